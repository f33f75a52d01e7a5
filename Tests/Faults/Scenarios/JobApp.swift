import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting

/// An app with a queue of jobs in its database, whose worker runs on the thread that calls.
final class JobApp: Program {
  static let fileName = "app.sqlite"

  /// What is written in steps, and enqueues the next one in the last of them.
  struct Scan: Job {
    static let kind = "scan"
    static let retry = JobApp.retry
  }

  /// What does one.
  struct Tell: Job {
    static let kind = "tell"
    static let retry = JobApp.retry
  }

  /// A read of a handler's own that fails is a failed attempt: tried again at once, as time stands still.
  private static let retry = RetryPolicy(delays: Array(repeating: .zero, count: 20))

  /// Processes that may die of a job.
  static let deaths = 3

  private let disk: Disk
  private let concurrency: Int
  /// What somebody reads, from when a handler begins to the end of the program; `nil` where nobody does.
  private let readers: Readers?
  /// Called as a handler begins.
  private let begins: @Sendable () throws -> Void
  private let executor = SeededExecutor(seed: 1)
  private var database: DatabasePool?
  private var opened: JobQueue?

  required convenience init(_ disk: Disk) { self.init(disk, isRead: false) }

  init(
    _ disk: Disk, concurrency: Int = 1, isRead: Bool = false,
    begins: @escaping @Sendable () throws -> Void = {}
  ) {
    (self.disk, self.concurrency, self.begins) = (disk, concurrency, begins)
    readers = isRead ? Readers() : nil
  }

  private final class Readers: Sendable {
    private let open = Mutex<[DatabaseSnapshot]>([])

    func add(_ reader: DatabaseSnapshot) { open.withLock { $0.append(reader) } }
    func close() { open.withLock { $0 = [] } }
  }

  var queue: JobQueue {
    get throws {
      guard let opened else { throw App.NotOpen() }
      return opened
    }
  }

  // MARK: - Program

  func open() throws {
    let database = try self.database ?? DatabasePool(path: disk.path(Self.fileName))
    self.database = database
    if opened != nil { return }
    var limits = JobLimits()
    (limits.keptDone, limits.deaths) = (1, Self.deaths)
    // Names of folders and files, which no row of these jobs has.
    let ids = Mutex<UInt64>(0)
    var environment = JobEnvironment(
      clock: VirtualClock(), wallClock: { .seconds(1_800_000_000) }, jitter: { 1 },
      makeID: {
        ids.withLock {
          $0 += 1
          return $0
        }
      }, executor: executor, fileExecutor: executor)
    environment.watchesFiles = false
    opened = try JobQueue.openBlocking(database, limits: limits, environment: environment)
  }

  func settings() throws -> [String] {
    try queue.database.writeWithoutTransaction { db in
      ["synchronous \(try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1)"]
    }
  }

  static func isDisk(_ error: any Error) -> Bool { false }

  func abandon() {
    opened = nil
    readers?.close()
    // On a disk that no longer answers, closing says so.
    try? database?.close()
    database = nil
  }

  // MARK: - Working

  func write(_ body: (Database, JobQueue) throws -> Void) throws {
    let queue = try queue
    try queue.database.write { try body($0, queue) }
  }

  /// Works until nothing can run.
  func work() throws {
    let (queue, database, readers) = (try queue, self.database, self.readers)
    let begins = { @Sendable [begins] in
      try begins()
      if let database, let readers { try readers.add(database.makeSnapshot()) }
    }
    let worker = JobWorker(queue, concurrency: concurrency, path: UnknownPathSource()) {
      $0.handle(Scan.self) { _, context in
        try begins()
        try await context.step("read", {}) { try JobApp.note("read", context, in: $0) }
        try await context.step("file", {}) { db in
          try JobApp.note("file", context, in: db)
          try queue.enqueue(Tell(), in: db)
        }
      }
      $0.handle(Tell.self) { _, context in
        try begins()
        try await context.step("tell", {}) { try JobApp.note("tell", context, in: $0) }
      }
    }
    let end = Mutex<Result<Void, any Error>?>(nil)
    let ended = { @Sendable in end.withLock { $0 } }
    let task = Task(executorPreference: executor) {
      let result: Result<Void, any Error>
      do {
        try await worker.drain()
        result = .success(())
      } catch {
        result = .failure(error)
      }
      end.withLock { $0 = result }
    }
    // A clock on which nobody sleeps: no time passes.
    if !executor.run(VirtualClock(), until: { ended() != nil }) {
      task.cancel()
      _ = executor.run(VirtualClock(), until: { ended() != nil })
      throw Violation(.drains, "the worker neither works nor ends")
    }
    try ended()?.get()
  }

  // MARK: - Effects

  static let creation =
    "CREATE TABLE effect (job INTEGER, name TEXT, start INTEGER, deaths INTEGER)"

  /// What the file counts anew for each life.
  static let counting: Set = [
    "effect.start", "effect.deaths", "grdb_tern_jobqueue.worker", "grdb_tern_jobhistory.starts",
  ]

  private static func note(_ name: String, _ context: JobContext, in db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO effect SELECT id, ?, starts, deaths FROM grdb_tern_job WHERE id = ?
        """, arguments: [name, context.id.rawValue])
  }
}
