import ArgumentParser
import ExampleService

/// From which language into which.
struct Sides: ParsableArguments {
  @Option(help: ArgumentHelp(Word.fromHelp.text)) var from: String?
  @Option(help: ArgumentHelp(Word.toHelp.text)) var to: String?

  func resolved(_ settings: Settings) throws -> (from: String, to: String) {
    let (from, to) = (from ?? settings[.from], to ?? settings[.to])
    for code in [from, to] where code != "auto" && !Language.isKnown(code) {
      throw Refusal(Word.unknownCode.text(code))
    }
    guard to != "auto" else { throw Refusal(Word.unknownCode.text(to)) }
    guard from != to else { throw Refusal(Word.sameLanguage.text(to)) }
    return (from, to)
  }
}

/// Who is asked, where it is not who the settings name.
struct Endpoint: ParsableArguments {
  @Option(help: ArgumentHelp(Word.serviceHelp.text)) var service: String?
  @Option(help: ArgumentHelp(Word.modelHelp.text)) var model: String?

  func check() throws {
    for (setting, value) in [(Setting.service, service), (.model, model)] {
      guard let value, !setting.accepts(value) else { continue }
      throw Refusal(Word.badSetting.text(setting.rawValue, value))
    }
  }
}
