import ArgumentParser
import ExampleService
import Foundation
import GRDB
@_spi(Rehearsal) import Tern
import TernJobs

/// `translate`: a translator in the terminal, with or without a network.
@main
struct TranslateCommand: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "translate", abstract: Word.abstract.text,
      usage: """
        translate TEXT [--from en] [--to es]
        translate <subcommand>
        """,
      discussion: Word.exits.text,
      subcommands: [
        Ask.self, Chat.self, History.self, Search.self, Favorites.self, Languages.self,
        SettingsCommand.self, Status.self, Run.self, Serve.self,
        Undo.self,
      ], defaultSubcommand: Ask.self)
  }

  static func main() async {
    hideFromOthers("--token")
    do {
      try await runAsAsked()
    } catch {
      let code = exitCode(for: error)
      let message = Phrasebook.translated(fullMessage(for: error))
      if code == .success {
        say(message)
      } else if !message.isEmpty {
        complain(message.shown(keepsLines: true))
      }
      exit(withError: code)
    }
  }
}

/// How the program ends, beside 0: as all of the examples do.
extension ExitCode {
  /// A question has no translation, for ever.
  static let unanswered = ExitCode(Ending.failed.rawValue)
  static let usage = ExitCode(Ending.usage.rawValue)
  static let badFile = ExitCode(Ending.badFile.rawValue)
  static let fullDisk = ExitCode(Ending.disk.rawValue)
  /// Questions are saved, and wait.
  static let later = ExitCode(Ending.later.rawValue)
  /// By SIGINT or SIGTERM; questions are saved.
  static let stopped = ExitCode(Ending.stopped.rawValue)
}

struct DataFile: ParsableArguments {
  @Option(help: ArgumentHelp(Word.dataHelp.text))
  var data = "translate.sqlite"

  /// For which a service is left alone that does not say for how long.
  @Option(help: .hidden) var pauseSeconds = 30

  /// Runs a command's work; what ends it by the world's fault is said in a sentence.
  func use(_ body: (TranslateDatabase, Settings) async throws -> Void) async throws {
    CrashPoint.armFromEnvironment()
    do {
      let database = try await open()
      let settings = try await database.pool.read { try Settings(in: $0) }
      Words.choose(settings[.language])
      try await body(database, settings)
    } catch let error where Self.isDisk(error) {
      complain(Word.fullDisk.text)
      throw ExitCode.fullDisk
    } catch let error as Refusal {
      complain(error.description.shown())
      throw ExitCode(error.ending.rawValue)
    }
  }

  private func open() async throws -> TranslateDatabase {
    do {
      return try await TranslateDatabase.open(data, pause: .seconds(pauseSeconds))
    } catch let error where !Self.isDisk(error) && !(error is CancellationError) {
      complain(Word.badFile.text(data, "\(error)").shown())
      throw ExitCode.badFile
    }
  }

  /// Where not even the log's index has room, SQLite calls it an I/O error.
  private static func isDisk(_ error: any Error) -> Bool {
    switch error {
    case let error as DatabaseError: [.SQLITE_FULL, .SQLITE_IOERR].contains(error.resultCode)
    case let error as DatabaseSetupError: error.underlyingError.map(isDisk) ?? false
    case let error as JobQueueError: error.code == .diskFull
    default: false
    }
  }

  /// Of the environment, and written nowhere.
  static var key: String? {
    let key = ProcessInfo.processInfo.environment["GEMINI_API_KEY"] ?? ""
    return key.isEmpty ? nil : key
  }
}

/// A line for who reads the output, at once; where it can't be written, the program ends with 74.
func say(_ line: String) {
  ExampleService.say(line) { Word.unwritable.text($0.systemReason) }
}

/// A line for the person, beside what a script reads.
func complain(_ line: String) { hint(line + "\n") }

/// What only a person reads; where nobody can, nothing is lost.
func hint(_ text: String) {
  try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
}

func sayJSON(_ value: some Encodable) throws {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  say(String(decoding: try encoder.encode(value), as: UTF8.self))
}
