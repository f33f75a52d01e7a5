import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import TestProcesses
import Testing

/// An app's database over several lives of its process, all on one thread and in virtual time.
final class Rig: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread touches it while a life goes on.
  let clock = VirtualClock()
  let database: any DatabaseWriter
  let files: URL
  var limits = JobLimits()
  var pollInterval = Duration.seconds(3600)
  var retryBudget: JobRate?
  var observers: [any JobObserver] = []
  /// What chance draws.
  var draw = 1.0
  /// The wall clock's error.
  let skew = Mutex(Duration.zero)
  let path = ScriptedPathSource()
  private let executor: SeededExecutor
  private let ids: Mutex<UInt64>
  private let entries = Mutex<[String]>([])

  static func run(
    seed: UInt64 = 1, _ kind: DatabaseKind = .queue, _ body: (Rig) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      try body(Rig(seed: seed, database: kind.open("\(folder)/app.sqlite"), folder: folder))
    }
  }

  convenience init(seed: UInt64, database: any DatabaseWriter, folder: String) throws {
    try self.init(seed: seed, existing: database, folder: folder)
    try database.write { try $0.execute(sql: "CREATE TABLE book (title TEXT NOT NULL)") }
  }

  /// Over a database that has what tables it needs.
  init(seed: UInt64, existing database: any DatabaseWriter, folder: String) throws {
    executor = SeededExecutor(seed: seed)
    ids = Mutex(seed << 32)
    self.database = database
    files = URL(filePath: folder + "/files")
  }

  // MARK: - Time

  /// Since the rig was made.
  var seconds: Double { clock.now.offset / .seconds(1) }

  var environment: JobEnvironment {
    var environment = JobEnvironment(
      clock: clock,
      wallClock: { [clock, self] in
        .seconds(1_000_000) + clock.now.offset + skew.withLock { $0 }
      },
      jitter: { [draw] in draw },
      makeID: { [self] in
        ids.withLock { id in
          id += 1
          return id
        }
      }, pollInterval: pollInterval, retryBudget: retryBudget, observers: observers,
      executor: executor, fileExecutor: executor)
    environment.watchesFiles = false
    return environment
  }

  func sleep(_ seconds: Double) async throws { try await clock.sleep(for: .seconds(seconds)) }

  // MARK: - What happened

  /// Notes an event with its second: `3 scan`.
  func note(_ text: String) {
    let second = seconds.formatted(.number.precision(.fractionLength(0...3)).grouping(.never))
    entries.withLock { $0.append("\(second) \(text)") }
  }

  /// Everything noted since the last call.
  func notes() -> [String] {
    entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
  }

  // MARK: - The app

  /// - Parameter other: another connection to the same file, as another process has.
  func open(_ other: (any DatabaseWriter)? = nil) throws -> JobQueue {
    try JobQueue.openBlocking(
      other ?? database, files: files, limits: limits, environment: environment)
  }

  func enqueue(_ queue: JobQueue, _ job: some Job, files: [JobFile] = []) throws -> JobID {
    try database.write { try queue.enqueue(job, files: files, in: $0) }
  }

  /// In a transaction of the app's; also for handlers.
  @discardableResult
  func write<T>(_ body: (Database) throws -> T) throws -> T { try database.write(body) }

  func record(_ queue: JobQueue, _ id: JobID) throws -> JobRecord {
    try #require(try database.read { try queue.record(id, in: $0) })
  }

  func gates(_ queue: JobQueue) throws -> [JobGate] { try database.read(queue.gates) }

  func titles() throws -> [String] {
    try database.read { try String.fetchAll($0, sql: "SELECT title FROM book ORDER BY rowid") }
  }

  /// Names of the files below the folder that are not locks.
  func storedFiles() throws -> [String] {
    let names = FileManager.default.enumerator(atPath: files.path)?.allObjects as? [String] ?? []
    return names.filter { $0.split(separator: "/").count == 2 && !$0.hasSuffix("lock") }.sorted()
  }

  // MARK: - Lives

  /// Runs a worker until a second of the rig's time, then cancels it and waits for its end.
  ///
  /// - Parameter body: what happens meanwhile.
  func live(
    _ worker: JobWorker, until end: Double,
    while body: (@Sendable () async throws -> Void)? = nil
  ) throws {
    let isOver = Mutex(false)
    let timer = task { try await self.sleep(end - self.seconds) }
    let work = task { try await worker.run() }
    let watch = task {
      _ = await timer.result
      work.cancel()
      isOver.withLock { $0 = true }
    }
    let other = body.map { task($0) }
    _ = executor.run(clock) { isOver.withLock { $0 } }
    _ = watch
    try outcome(of: work)
    if let other { try outcome(of: other) }
  }

  /// Runs a worker until it throws; its error.
  func die(_ worker: JobWorker) throws -> any Error {
    do {
      try outcome(of: task { try await worker.run() })
      throw CancellationError()
    } catch {
      return error
    }
  }

  func drain(_ worker: JobWorker, waiting patience: Duration = .zero) throws {
    try outcome(of: task { try await worker.drain(waiting: patience) })
  }

  /// Runs anything on the rig's thread to its end.
  func perform<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    try outcome(of: task(body))
  }

  private func task<T: Sendable>(
    _ body: @escaping @Sendable () async throws -> T
  ) -> Task<T, any Error> {
    Task(executorPreference: executor) { try await body() }
  }

  @discardableResult
  private func outcome<T: Sendable>(of task: Task<T, any Error>) throws -> T {
    let result = Mutex<Result<T, any Error>?>(nil)
    let watch = Task(executorPreference: executor) {
      let ended = await task.result
      result.withLock { $0 = ended }
    }
    _ = executor.run(clock) { result.withLock { $0 != nil } }
    _ = watch
    return try #require(result.withLock { $0 }, "nothing is left that could happen").get()
  }
}

enum DatabaseKind: String, CaseIterable {
  case queue, pool, memory

  func open(_ path: String) throws -> any DatabaseWriter {
    switch self {
    case .queue: try DatabaseQueue(path: path)
    case .pool: try DatabasePool(path: path)
    case .memory: try DatabaseQueue()
    }
  }
}

extension DatabaseQueue {
  /// A connection that can be in others' way from one call to the next.
  static func leavingTransactionsOpen(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    return try DatabaseQueue(path: path, configuration: configuration)
  }
}
