import ArgumentParser
import ExampleService
import ExampleWork
import GRDB
import Tern

/// The work on what waits, and with whom it syncs.
struct Work: ParsableArguments {
  @OptionGroup var file: DataFile
  @OptionGroup var remote: SyncOptions

  /// Works until SIGTERM or SIGINT. What goes on beside it is told whether the interpreter runs in this
  /// process, and how the sync stands.
  func run(
    beside: @escaping @Sendable (TranslateDatabase, Bool, SyncStatus?) async throws -> Void
  ) async throws {
    try await start { translator, engine in
      let (database, worker) = (translator.database, translator.worker)
      var parts: [@Sendable () async throws -> Void] = [
        { try await beside(database, translator.own != nil, engine?.status) },
        // Another program on the file may be the one that works, and end before this one.
        { try await worker.run(standby: true) },
        { try await database.keepAnsweringOffline() },
      ]
      if let engine {
        parts.append { await engine.run() }
        parts.append { await engine.status.forEachError { hint(Word.noSync.text($0).shown()) } }
      }
      try await untilOneEnds(parts)
    }
  }

  /// Works while anything can be done. What others wrote comes in meanwhile, and what is written here
  /// goes out: a question need not wait for the one before it.
  func drain(json: Bool) async throws {
    try await start { translator, engine in
      let database = translator.database
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        if let engine { tasks.addTask { await engine.run() } }
        defer { tasks.cancelAll() }
        try await translator.drain()
      }
      let standing = try await database.pool.read { try Standing(database, in: $0) }
      try standing.say(json: json)
      // The last answers, and whether the server was reached at all.
      try await engine?.syncOnce()
      if standing.waiting > 0 { throw ExitCode(Ending.later.rawValue) }
    }
  }

  private func start(
    _ body: @escaping @Sendable (Translator, SyncEngine?) async throws -> Void
  ) async throws {
    let remote = try remote.remote()
    try await file.use { database, settings in
      let engine = remote.map { SyncEngine(database.replica, remote: $0) }
      try await database.pool.write { try database.enqueueNext(in: $0) }
      try await Translator.using(database, settings) { try await body($0, engine) }
    }
  }
}

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Finish what waits, and what comes meanwhile, until stopped.")

  @OptionGroup var work: Work
  @Flag(help: "Stop when nothing can be done any more.") var once = false
  @Flag(help: "Ask again what ended without a translation.") var retry = false
  @Flag(help: "One JSON document a line.") var json = false

  func run() async throws {
    // Before anything is changed.
    _ = try work.remote.remote()
    if retry { try await work.file.use { database, _ in try await database.retry() } }
    if once { return try await work.drain(json: json) }
    // After its first line nothing but `kill -9` ends the work in its middle.
    try await work.run { [json] database, _, _ in
      let standings = ValueObservation.tracking { try Standing(database, in: $0) }
      for try await standing in standings.removeDuplicates().values(in: database.pool) {
        try standing.say(json: json)
      }
    }
  }
}

extension Standing {
  func say(json: Bool) throws { json ? try sayJSON(self) : ExampleService.say(text) }
}
