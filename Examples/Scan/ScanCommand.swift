#if Server
import ArgumentParser
import Foundation
import GRDB
import Tern

/// `scan`: photographs of bookshelves become books, with or without a network.
@main
struct ScanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Photographs of bookshelves become books in a library, also without a network.",
    subcommands: [
      Add.self, Run.self, Status.self, Library.self, Search.self, Review.self, Edit.self,
      Delete.self, Retry.self, Export.self,
    ])
}

struct DataFile: ParsableArguments {
  @Option(help: "The library's database; made when it is missing.")
  var data = "scan.sqlite"

  func open(pause: Duration = .seconds(30)) async throws -> ScanDatabase {
    try await ScanDatabase.open(data, pause: pause)
  }
}

/// A line on standard output, at once: whoever reads it may act on it, even with `kill -9`.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

struct Add: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Accept photos. They are safe when this returns, and scanned by `scan run`.")

  @OptionGroup var file: DataFile
  @Argument(help: "JPEG or PNG pictures.") var photos: [String]

  func run() async throws {
    #if Rehearsal
    CrashPoint.armFromEnvironment()
    #endif
    let database = try await file.open()
    var refused = 0
    for photo in photos {
      do {
        let began = ContinuousClock.now
        let name = try await accept(photo, into: database)
        let took = (ContinuousClock.now - began) / .milliseconds(1)
        say("accepted: \(name) in \(took.formatted(.number.precision(.fractionLength(1)))) ms")
      } catch let error as PhotoError {
        refused += 1
        say("refused: \(error)")
      }
    }
    if refused > 0 { throw Refusal("\(refused) of \(photos.count) were not accepted, see above") }
  }

  private func accept(_ path: String, into database: ScanDatabase) async throws -> String {
    _ = try Photo(contentsOf: path)
    let url = URL(filePath: path)
    let photo = try await database.jobs.attach(copyOf: url, as: ScanShelf.taken)
    let id = UUID().uuidString.lowercased()
    try await database.pool.write { db in
      let job = try database.jobs.enqueue(ScanShelf(scan: id), files: [photo], in: db)
      try db.execute(
        sql: "INSERT INTO scan (id, name, job) VALUES (?, ?, ?)",
        arguments: [id, url.lastPathComponent, job.rawValue])
    }
    return url.lastPathComponent
  }
}

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "What became of the photos.")

  @OptionGroup var file: DataFile

  func run() async throws {
    let database = try await file.open()
    let board = try await database.pool.read { try Board(database.jobs, in: $0) }
    for line in board.lines(inColour: isatty(1) == 1) { say(line) }
  }
}

struct Retry: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Try the failed photos again, from where each stopped.")

  @OptionGroup var file: DataFile

  func run() async throws {
    let database = try await file.open()
    let count = try await database.pool.write { db in
      let failed = try database.jobs.records(in: db).filter(\.isStuck)
      for record in failed { try database.jobs.retry(record.id, in: db) }
      return failed.count
    }
    say("\(count) are tried again by `scan run`")
  }
}
#else
import Foundation

/// What is left of the program when the package is built without the `Server` trait.
@main
struct WithoutServer {
  static func main() {
    let message = "scan: built without its parts; build it with: swift build --traits Server\n"
    FileHandle.standardError.write(Data(message.utf8))
    exit(1)
  }
}
#endif
