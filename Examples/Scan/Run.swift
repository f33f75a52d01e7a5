import ArgumentParser
import ExampleService
import ExampleWork
import Foundation
import GRDB
import RecognizerKit
import Tern
import TernJobs

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Scan what waits, and what is added meanwhile, until stopped.")

  @OptionGroup var work: Work
  @Flag(help: "Stop when what is left has failed, or waits for over five minutes.") var once = false

  func run() async throws { try await work.run(once: once) }
}

/// The work on a library's queue: with which service, and with whom it syncs.
struct Work: ParsableArguments {
  @OptionGroup var file: DataFile
  @OptionGroup var remote: SyncOptions
  @Option(help: "A service that speaks the scan contract; without one a recognizer runs in here.")
  var service: String?
  @Option(help: "The recognizer's catalogue, a CSV file; without one, the example library's.")
  var catalogue: String?
  @Option(help: .hidden) var streamSeconds = 300
  /// For which a service is left alone that does not say for how long.
  @Option(help: .hidden) var pauseSeconds = 30
  /// Of which a run that ends by itself waits for what is due.
  @Option(help: .hidden) var waitSeconds = 300.0

  /// - Parameter page: what goes on beside the work, once no other process does that.
  func run(
    once: Bool = false, beside page: (@Sendable (ScanDatabase, URL) async throws -> Void)? = nil
  ) async throws {
    let url = try service.map { service in
      guard let url = ServiceAddress.url(service)
      else { throw Refusal("--service is a URL such as http://127.0.0.1:8080") }
      return url
    }
    let remote = try remote.remote()
    let database = try await file.open(pause: .seconds(pauseSeconds))
    let engine = remote.map { SyncEngine(database.replica, remote: $0) }
    if let url {
      try await run(database, engine, url, once, page)
    } else {
      // In this process, so that it can't outlive it.
      guard let catalogue = catalogue ?? CatalogueFile.sample else {
        throw Refusal(
          "say which scan service to ask by --service URL; or, for the recognizer in here, what it "
            + "knows by --catalogue FILE.csv")
      }
      let reader = try PhotoReader(catalogues: [catalogue])
      try await RecognizerApplication(reader).serving { url in
        hint(
          "no service is named: a recognizer runs in this program, at \(url), until it ends, and knows "
            + "\(catalogue.shown()); --service URL names another")
        try await run(database, engine, url, once, page)
      }
    }
  }

  private func run(
    _ database: ScanDatabase, _ engine: SyncEngine?, _ url: URL, _ once: Bool,
    _ page: (@Sendable (ScanDatabase, URL) async throws -> Void)?
  ) async throws {
    let id = try await database.pool.read { try String.fetchOne($0, sql: "SELECT id FROM device") }
    let scanner = Scanner(
      database: database, service: Talaria(url, deviceID: id ?? ""),
      streamLimit: .seconds(streamSeconds))
    let worker = JobWorker(database.jobs) {
      $0.handle(ScanShelf.self) { try await scanner.scan($1) }
      $0.handle(CleanUp.self) { job, _ in try await scanner.service.cleanUp(job.ticket) }
    }
    let teller = Teller()
    let failedBefore = try await database.failed()
    let (started, start) = AsyncStream.makeStream(of: Void.self)
    var parts: [@Sendable () async throws -> Void] = [
      // After its first line nothing but `kill -9` ends the work in its middle.
      { try await tell(database, teller) },
      {
        guard once else { return try await worker.run { start.yield() } }
        let waits = try await worker.drain(
          whileDueWithin: waitSeconds, database.jobs, database.pool)
        try await engine?.syncOnce()
        if try await !database.failed().isSubset(of: failedBefore) {
          throw ExitCode(Ending.failed.rawValue)
        }
        if waits.contains(where: { $0.kind == ScanShelf.kind }) {
          throw ExitCode(Ending.later.rawValue)
        }
      },
    ]
    if let page { parts.append { for await _ in started { return try await page(database, url) } } }
    if let engine, !once {
      parts.append { await engine.run() }
      parts.append { await engine.status.forEachError { say("not synced: \("\($0)".shown())") } }
    }
    // What goes on until it is stopped has done what it is for.
    let stopped = once ? ExitCode(Ending.stopped.rawValue) : nil
    let ended: Result<Void, any Error>
    do { ended = .success(try await untilOneEnds(stopped: stopped, parts)) } catch {
      ended = .failure(error)
    }
    // However it ended, what nobody was told yet.
    teller.tell(try await database.board().lines())
    try ended.get()
  }

  /// Prints every scan's line when it changes.
  private func tell(_ database: ScanDatabase, _ teller: Teller) async throws {
    let boards = ValueObservation.tracking { try Board(database.jobs, in: $0) }
    for try await board in boards.values(in: database.pool) { teller.tell(board.lines()) }
  }
}
