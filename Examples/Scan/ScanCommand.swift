import ArgumentParser
import ExampleService
import ExampleWork
import Foundation
import GRDB
import RecognizerKit
@_spi(Rehearsal) import Tern
import TernJobs

/// `scan`: photographs of bookshelves become books, with or without a network.
@main
struct ScanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Photographs of bookshelves become books in a library, also without a network.",
    discussion: Ending.table,
    subcommands: [
      Add.self, Run.self, Serve.self, Status.self, Retry.self, Drop.self, Library.self, Review.self,
      Edit.self, Delete.self, Export.self, Import.self,
    ])

  static func main() async {
    hideFromOthers("--token")
    await runToItsEnd { $0 is CatalogueError ? .usage : Ending.of($0) }
  }
}

struct DataFile: ParsableArguments {
  @Option(help: "The library's database; made when it is missing.")
  var data = "scan.sqlite"

  func open(pause: Duration = .seconds(30)) async throws -> ScanDatabase {
    CrashPoint.armFromEnvironment(own: CrashPoint.ofScan)
    do {
      return try await ScanDatabase.open(data, pause: pause)
    } catch let error as DatabaseError
      where [.SQLITE_NOTADB, .SQLITE_CANTOPEN].contains(error.resultCode)
    {
      throw Refusal(
        "“\(data)” can't be used as the database: \(error.message ?? "\(error)")", .badFile)
    }
  }
}

extension ScanDatabase {
  /// What became of the photos.
  func board() async throws -> Board { try await pool.read { try Board(jobs, in: $0) } }

  /// The jobs that are not tried again by themselves.
  func failed() async throws -> Set<JobID> {
    try await pool.read { db in
      Set(try jobs.records(in: db).filter(\.state.isStuck).map(\.id))
    }
  }
}

struct Add: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Accept photos. They are safe when this returns, and scanned by `scan run`.")

  @OptionGroup var file: DataFile
  @Argument(help: "JPEG or PNG pictures.") var photos: [String]

  func run() async throws {
    let database = try await file.open()
    var (refused, ending) = (0, Ending.usage)
    for photo in photos {
      do {
        let began = ContinuousClock.now
        let url = URL(filePath: photo)
        try await database.accept(url)
        let took = (ContinuousClock.now - began) / .milliseconds(1)
        let time = took.formatted(.number.precision(.fractionLength(1)))
        say("accepted: \(url.lastPathComponent) in \(time) ms")
      } catch {
        refused += 1
        if (error as? JobQueueError)?.code == .diskFull { ending = .disk }
        say("refused: \(error is UnfitPicture ? "\(error)" : "\(photo): \(error)")")
      }
    }
    if refused > 0 {
      throw Refusal("\(refused) of \(photos.count) were not accepted, see above", ending)
    }
  }
}

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "What became of the photos.")

  @OptionGroup var file: DataFile

  func run() async throws {
    for line in try await file.open().board().lines() { say(line) }
  }
}

struct Retry: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Go on with the failed photos.")

  @OptionGroup var file: DataFile

  func run() async throws {
    let database = try await file.open()
    let count = try await database.pool.write { try database.jobs.retryAll(in: $0) }
    say("\(count) are tried again by `scan run`")
  }
}
