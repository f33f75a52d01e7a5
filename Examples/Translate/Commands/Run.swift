import ArgumentParser
import ExampleService
import ExampleWork
import Foundation
import GRDB
import Tern
import TernJobs
import TernNetwork
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
          try Standing(database, in: db),
          try Entry.fetchAll(
            db,
            sql: Entry.select("JOIN waiting ON waiting.phrase = phrase.id ORDER BY place LIMIT 100")
          )
        )
      }
      try standing.say(json: listing.json)
      try listing.say(waiting)
    }
  }
}

struct Run: AsyncParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(commandName: "run", abstract: Word.runAbstract.text)
  }

  @OptionGroup var file: DataFile
  @OptionGroup var remote: SyncOptions
  @Flag(help: ArgumentHelp(Word.onceHelp.text)) var once = false
  @Flag(help: ArgumentHelp(Word.retryHelp.text)) var retry = false
  @Flag(help: ArgumentHelp(Word.jsonHelp.text)) var json = false

  func run() async throws {
    try await file.use { database, settings in
      let engine = try remote.engine(database)
      if retry { try await database.retry() }
      try await database.pool.write { try database.goOn(in: $0) }
      try await OwnInterpreter.serving(settings[.service]) { own in
        let translator = Translator(
          database: database, path: SystemPath.shared, key: DataFile.key, own: own)
        try await work(translator, database, beside: engine)
      }
    }
  }

  private func work(
    _ translator: Translator, _ database: TranslateDatabase, beside engine: SyncEngine?
  ) async throws {
    if once {
      try await drain(translator, beside: engine)
      let standing = try await database.pool.read { try Standing(database, in: $0) }
      try standing.say(json: json)
      // The last answers, and whether the server was reached at all.
      do {
        try await engine?.syncOnce()
      } catch let error where error is RemoteError || error is MergeError {
        complain("\(error)".shown())
        let code = (error as? RemoteError)?.code
        throw code == .unreachable || code == .unavailable ? ExitCode.later : .usage
      }
      if standing.waiting > 0 { throw ExitCode.later }
      return
    }
    let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      // After its first line nothing but `kill -9` ends the work in its middle.
      tasks.addTask { try await tell(database) }
      tasks.addTask { for await _ in signals { return } }
      // Another program on the file may be the one that works, and end before this one.
      tasks.addTask { try await translator.worker.run(standby: true) }
      if let engine {
        tasks.addTask { await engine.run() }
        tasks.addTask { await SyncOptions.tell(engine.status) }
      }
      // The first that ends, ends all: a signal or an error.
      let first = await tasks.nextResult()
      tasks.cancelAll()
      do { try first?.get() } catch is CancellationError {}
    }
  }

  /// Works while anything can be done. What others wrote comes in meanwhile, and what is written here
  /// goes out: a question need not wait for the one before it.
  private func drain(_ translator: Translator, beside engine: SyncEngine?) async throws {
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      if let engine { tasks.addTask { await engine.run() } }
      defer { tasks.cancelAll() }
      do {
        _ = try await translator.worker.drain(
          whileDueWithin: 300, translator.database.jobs, translator.database.pool)
      } catch let error as JobQueueError where error.code == .workerRunning {
        // Another program on the file does the work.
      }
    }
  }

  /// Prints how the work stands, each time that it changes.
  private func tell(_ database: TranslateDatabase) async throws {
    let standings = ValueObservation.tracking { try Standing(database, in: $0) }
    var last: Standing.News?
    for try await standing in standings.values(in: database.pool) where standing.news != last {
      last = standing.news
      try standing.say(json: json)
    }
  }
}

extension Standing {
  fileprivate func say(json: Bool) throws {
    json ? try sayJSON(document(now: Date())) : translate.say(text(now: Date()))
  }
}
