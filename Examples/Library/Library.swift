import ExampleService
import Foundation
import GRDB
import Tern

/// A library of books that syncs: what an app does with Tern, as a command.
@main
struct Library {
  static func main() async {
    hideFromOthers("--token")
    if CommandLine.arguments.dropFirst() == ["--help"] { return say(Usage.text) }
    do {
      var arguments = try Arguments(CommandLine.arguments.dropFirst())
      let command = try Command(arguments.takeCommand(), arguments)
      let replica = try await LibraryDatabase.open(try arguments.required("data"))
      try await run(command, arguments, replica)
      try replica.database.close()
    } catch {
      FileHandle.standardError.write(Data("library: \(error)\n".utf8))
      exit(ending(of: error).rawValue)
    }
  }

  private static func ending(of error: any Error) -> Ending {
    switch error {
    case is Usage: .usage
    case let refusal as Refusal: refusal.ending
    case let error as DatabaseError:
      switch error.resultCode {
      case .SQLITE_NOTADB, .SQLITE_CANTOPEN: .badFile
      case .SQLITE_FULL, .SQLITE_IOERR: .disk
      default: .failed
      }
    case let error as RemoteError:
      error.code == .unreachable || error.code == .unavailable ? .later : .usage
    default: .failed
    }
  }

  private static func run(
    _ command: Command, _ arguments: Arguments, _ replica: Replica
  ) async throws {
    switch command {
    case .import:
      let catalogue = try Catalogue(contentsOf: try arguments.argument(0, "catalogue"))
        .first(try arguments.number("first"))
      let total = catalogue.books.count
      try await catalogue.insert(
        into: replica.database, batch: try arguments.number("batch") ?? 250
      ) { say("imported: \($0) of \(total)") }
    case .edit: try await edit(replica, arguments, pause: .zero)
    case .sync:
      let sync = try Sync(replica, arguments)
      guard arguments.has("run") else { return try await sync.once() }
      try await sync.run { try await edit(replica, arguments, pause: .milliseconds(50)) }
    case .stats: try await Report(replica: replica).stats()
    case .list: try await Report(replica: replica).list(limit: try arguments.number("limit") ?? 20)
    case .hash: try await Report(replica: replica).hash()
    case .change(let edit, let key):
      let isDone = try await replica.database.write { try edit.apply(to: key, in: $0) }
      say(isDone ? "\(key)\t\(edit)" : "nothing to do: \(key)")
    }
  }

  private static func edit(
    _ replica: Replica, _ arguments: Arguments, pause: Duration
  ) async throws {
    guard let count = try arguments.number("edits") else { return }
    var mix = EditMix(seed: UInt64(try arguments.number("seed") ?? 1))
    for start in stride(from: 0, to: count, by: 10) {
      let done = try await mix.write(min(10, count - start), to: replica.database)
      if !done.isEmpty { say(done.joined(separator: "\n")) }
      try await Task.sleep(for: pause)
    }
  }
}
