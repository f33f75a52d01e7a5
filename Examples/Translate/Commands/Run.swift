#if Server
import ArgumentParser
import ExampleService
import Foundation
import GRDB
import Tern
import UnixSignals

struct Status: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "status", abstract: Word.statusAbstract.text)
  }

  @OptionGroup var listing: Listing

  func run() async throws {
    try await listing.file.use { database, _ in
      let (standing, waiting) = try await database.pool.read { db in
        (
          try Standing(database.jobs, in: db),
          try Entry.fetchAll(
            db,
            sql: Entry.select("JOIN waiting ON waiting.phrase = phrase.id ORDER BY place LIMIT 100")
          )
        )
      }
      if !listing.json { say(standing.text(now: Date())) }
      try listing.say(waiting)
    }
  }
}

struct Run: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "run", abstract: Word.runAbstract.text)
  }

  @OptionGroup var file: DataFile
  @Option(help: ArgumentHelp(Word.syncHelp.text)) var sync: String?
  @Option(help: ArgumentHelp(Word.spaceHelp.text)) var space = "home"
  @Option(help: ArgumentHelp(Word.tokenHelp.text)) var token: String?
  @Flag(help: ArgumentHelp(Word.onceHelp.text)) var once = false
  @Flag(help: ArgumentHelp(Word.retryHelp.text)) var retry = false

  func run() async throws {
    try await file.use { database, _ in
      let engine = try sync.map { try syncEngine(database, $0) }
      let translator = Translator(
        database: database, path: SystemPath.shared, key: DataFile.key)
      if retry { try await database.retry() }
      try await database.pool.write { try database.goOn(in: $0) }
      if once {
        do {
          try await translator.worker.drain(waiting: .seconds(300))
        } catch let error as JobQueueError where error.code == .workerRunning {
          // Another program on the file does the work.
        }
        try await engine?.syncOnce()
        return say(try await database.pool.read { try Standing(database.jobs, in: $0) }.line)
      }
      let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        // After its first line nothing but `kill -9` ends the work in its middle.
        tasks.addTask { try await tell(database) }
        tasks.addTask { for await _ in signals { return } }
        // Another program on the file may be the one that works, and end before this one.
        tasks.addTask { try await translator.worker.run(standby: true) }
        if let engine { tasks.addTask { await engine.run() } }
        // The first that ends, ends all: a signal or an error.
        let first = await tasks.nextResult()
        tasks.cancelAll()
        do { try first?.get() } catch is CancellationError {}
      }
    }
  }

  private func syncEngine(_ database: TranslateDatabase, _ address: String) throws -> SyncEngine {
    guard let url = URL(string: address),
      let token = token ?? ProcessInfo.processInfo.environment["TERN_TOKEN"]
    else { throw Refusal(Word.syncNeeds.text) }
    return SyncEngine(database.replica, remote: HTTPRemote(url, space: space, token: { token }))
  }

  /// Prints how the work stands, each time that it changes.
  private func tell(_ database: TranslateDatabase) async throws {
    let standings = ValueObservation.tracking { try Standing(database.jobs, in: $0) }
    var last: Standing?
    for try await standing in standings.values(in: database.pool) where standing != last {
      last = standing
      say(standing.line)
    }
  }
}

extension Standing {
  var line: String { text(now: Date()) }
}
#endif
