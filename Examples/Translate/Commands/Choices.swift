import ArgumentParser
import ExampleService
import Foundation
import GRDB
import InterpreterKit
import Tern

/// What is installed here.
enum Offline {
  private static let pairs = ApertiumPair.installed()

  /// Each from which into which language.
  static var all: [[String]] { pairs.map { [$0.source, $0.target] } }

  static func has(from source: String, to target: String) -> Bool {
    pairs.contains { ($0.source == source || source == "auto") && $0.target == target }
  }

  /// Into which languages it translates from one.
  static func targets(of source: String) -> [String] {
    pairs.filter { $0.source == source }.map(\.target)
  }
}

struct Languages: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "languages", abstract: Word.languagesAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument(help: ArgumentHelp(Word.languageHelp.text)) var text: String?

  private struct Line: Encodable {
    var code, native, name: String
    var offline: [String]
  }

  func run() async throws {
    try await listing.file.use { database, _ in
      let used = try await database.pool.read { try Language.lastUsed(in: $0) }
      let all = used.map(Language.init) + Language.all.filter { !used.contains($0.code) }
      for language in all where text.map(language.matches) ?? true {
        let line = Line(
          code: language.code, native: language.native, name: language.name,
          offline: Offline.targets(of: language.code))
        if listing.json {
          try sayJSON(line)
        } else {
          let targets = line.offline.joined(separator: ", ")
          let mark = targets.isEmpty ? "" : "\t\(Word.offlineMark.text): → \(targets)"
          say("\(line.code)\t\(line.native)\t\(line.name)\(mark)")
        }
      }
    }
  }
}

struct SettingsCommand: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "settings", abstract: Word.settingsAbstract.text)
  }

  @OptionGroup var listing: Listing
  @Argument(help: ArgumentHelp(Word.settingHelp.text)) var name: String?
  @Argument(help: ArgumentHelp(Word.valueHelp.text)) var value: String?
  @Option(help: ArgumentHelp(Word.itsModelHelp.text)) var model: String?

  func run() async throws {
    try await listing.file.use { database, _ in
      let all = Setting.allCases.map(\.rawValue).joined(separator: ", ")
      let chosen = try name.map { name in
        guard let setting = Setting(rawValue: name) else {
          throw Refusal(Word.noSetting.text(name, all))
        }
        return setting
      }
      if let model {
        guard chosen == .service, value != nil else { throw Refusal(Word.loneModel.text) }
        guard Setting.model.accepts(model) else {
          throw Refusal(Word.badSetting.text(Setting.model.rawValue, model))
        }
      }
      if let chosen, let value {
        guard chosen.accepts(value) else {
          throw Refusal(Word.badSetting.text(chosen.rawValue, value))
        }
        try await database.choose(chosen, value, model: model)
        guard listing.json else { return }
      }
      let shown = chosen.map { [$0] } ?? Setting.allCases
      let settings = try await database.pool.read { try Settings(in: $0) }
      if listing.json {
        return try sayJSON(
          Dictionary(uniqueKeysWithValues: shown.map { ($0.rawValue, settings[$0]) }))
      }
      for setting in shown { say("\(setting.rawValue)\t\(settings[setting].shown())") }
    }
  }
}
