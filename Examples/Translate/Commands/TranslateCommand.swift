import ArgumentParser
import ExamplePages
import ExampleService
import ExampleWork
import Foundation
import GRDB
@_spi(Rehearsal) import Tern

/// `translate`: a translator in the terminal and on a page, with or without a network.
@main
struct TranslateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "translate", abstract: "Translates, also without a network.",
    usage: """
      translate TEXT [--from en] [--to es]
      translate <subcommand>
      """,
    discussion: Ending.table,
    subcommands: [
      Ask.self, History.self, SettingsCommand.self, Status.self, Run.self, Serve.self, Undo.self,
    ], defaultSubcommand: Ask.self)

  static func main() async {
    hideFromOthers("--token")
    await runToItsEnd { Ending.of($0) }
  }
}

struct DataFile: ParsableArguments {
  @Option(help: "The database; made when it is missing.") var data = "translate.sqlite"

  /// Runs a command's work; what ends it by the world's fault is said in a sentence.
  func use(_ body: (TranslateDatabase, Settings) async throws -> Void) async throws {
    CrashPoint.armFromEnvironment()
    do {
      let database = try await open()
      let settings = try await database.pool.read { try Settings(in: $0) }
      Words.choose(settings[.language])
      try await body(database, settings)
    } catch let error where Ending.of(error) == .disk && !(error is PageTokenError) {
      throw Refusal(Word.fullDisk.text, .disk)
    }
  }

  private func open() async throws -> TranslateDatabase {
    do {
      return try await TranslateDatabase.open(data)
    } catch let error where Ending.of(error) != .disk {
      throw Refusal(Word.badFile.text(data.shown(), "\(error)".shown()), .badFile)
    }
  }
}

func sayJSON(_ value: some Encodable) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  say(String(decoding: try encoder.encode(value), as: UTF8.self))
}

struct History: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The questions and what came of them, or those that hold some words.")

  @OptionGroup var file: DataFile
  @Argument(help: "Words to look for.") var words: String = ""
  @Flag(help: "One JSON document a line.") var json = false

  func run() async throws {
    try await file.use { database, _ in
      let entries = try await database.pool.read { try Entry.search(words, in: $0) }
      for entry in entries { json ? try sayJSON(entry) : say(entry.line) }
    }
  }
}

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "How many questions wait, and for what.")

  @OptionGroup var file: DataFile
  @Flag(help: "One JSON document a line.") var json = false

  func run() async throws {
    try await file.use { database, _ in
      try await database.pool.read { try Standing(database, in: $0) }.say(json: json)
    }
  }
}

struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings", abstract: "Show the settings, or change one.")

  @OptionGroup var file: DataFile
  @Argument(help: "A setting; without one, all are shown.") var name: String?
  @Argument(help: "What it is to be.") var value: String?
  @Option(help: "With a service: which of its models is asked from now on.") var model: String?

  func run() async throws {
    try await file.use { database, settings in
      let chosen = try name.map(Setting.named)
      guard model == nil || (chosen == .service && value != nil) else {
        throw Refusal(Word.loneModel.text)
      }
      if let chosen, let value { return try await database.choose(chosen, value, model: model) }
      for setting in chosen.map({ [$0] }) ?? Setting.allCases {
        say("\(setting.rawValue)\t\(settings[setting].shown())")
      }
    }
  }
}

struct Undo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Take back this device's last action, on all devices.")

  @OptionGroup var file: DataFile

  func run() async throws {
    try await file.use { database, _ in
      let rows = try await database.undo()
      guard !rows.isEmpty else { throw Refusal(Word.nothingToUndo.text, .failed) }
      // How many rows of which table, and what became of them.
      let groups = Dictionary(grouping: rows) { "\($0.table): \($0.action.rawValue)" }
      let told = groups.map { "\($0) \($1.count)" }.sorted().joined(separator: "; ")
      say(Word.undone.text(told))
    }
  }
}
