import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs

/// A queue over the database under test, with the steps that scenarios are made of.
final class JobStage: Sendable {
  let subject: JobQueueConformance.Subject
  let database: any DatabaseWriter
  let harness: JobHarness
  let jobs: JobQueue
  private let notes = Mutex<[String]>([])

  init(
    _ subject: JobQueueConformance.Subject, seed: UInt64, limits: JobLimits = JobLimits(),
    hasBudget: Bool = false, start: Duration = .seconds(1_000_000)
  ) throws {
    (self.subject, database) = (subject, subject.database)
    harness = JobHarness(seed: seed, start: start)
    var environment = harness.environment
    if !hasBudget { environment.retryBudget = nil }
    jobs = try JobQueue.openBlocking(database, limits: limits, environment: environment)
    try database.write {
      try $0.execute(sql: "CREATE TABLE IF NOT EXISTS conformance (effect TEXT NOT NULL)")
    }
  }

  // MARK: - The app

  func start(concurrency: Int = 1, _ register: @escaping @Sendable (inout JobHandlers) -> Void) {
    harness.start(jobs, concurrency: concurrency, register)
  }

  @discardableResult
  func write<T>(_ body: (Database) throws -> T) throws -> T { try database.write(body) }

  @discardableResult
  func enqueue(_ job: some Job) throws -> JobID { try write { try jobs.enqueue(job, in: $0) } }

  static func addEffect(_ effect: String, in db: Database) throws {
    try db.execute(sql: "INSERT INTO conformance VALUES (?)", arguments: [effect])
  }

  /// What transactions wrote, in order.
  func effects() throws -> [String] {
    try database.read {
      try String.fetchAll($0, sql: "SELECT effect FROM conformance ORDER BY rowid")
    }
  }

  func record(_ id: JobID) throws -> JobRecord? {
    try database.read { try jobs.record(id, in: $0) }
  }

  /// Names of the files in the queue's folder that are no locks.
  func files() throws -> [String] {
    let names = FileManager.default.enumerator(atPath: jobs.filesFolder)?.allObjects as? [String]
    return (names ?? []).filter { $0.contains("/") && !$0.hasSuffix("/lock") }.sorted()
  }

  // MARK: - What happened

  /// Notes an event with the second of virtual time: `3 a`.
  func note(_ text: String) {
    let second = (clock.now.offset / .seconds(1))
      .formatted(.number.precision(.fractionLength(0...3)).grouping(.never))
    notes.withLock { $0.append("\(second) \(text)") }
  }

  /// Everything noted since the last call.
  func taken() -> [String] {
    notes.withLock { notes in
      defer { notes = [] }
      return notes
    }
  }

  var clock: VirtualClock { harness.clock }

  // MARK: - What is required

  func requireState(
    _ invariant: Invariant, _ id: JobID, _ state: JobState?, _ what: @autoclosure () -> String
  ) throws {
    try requireEqual(invariant, record(id)?.state, state, "\(what()): the state of job \(id)")
  }

  func requireNotes(_ invariant: Invariant, _ expected: [String], _ what: String) throws {
    try requireEqual(invariant, taken(), expected, what)
  }
}

extension JobQueueConformance {
  /// Runs a scenario's steps, and ends its worker.
  func stage(
    limits: JobLimits = JobLimits(), hasBudget: Bool = false, _ body: (JobStage) throws -> Void
  ) throws {
    let stage = try JobStage(makeSubject(), seed: seed, limits: limits, hasBudget: hasBudget)
    let result = Result { try body(stage) }
    try stage.harness.stop()
    try result.get()
  }

  /// What must be refused by a name.
  func requireRefusal(
    _ code: JobQueueError.Code, _ what: String, _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as JobQueueError {
      return try require(.limitsHold, error.code == code, "\(what) was refused as: \(error)")
    }
    throw ConformanceFailure(.limitsHold, "\(what) was taken")
  }
}

/// Work without a service.
struct Errand: Job {
  static let kind = "tern-errand"
  var name: String
}

/// Work for a service.
struct Call: Job {
  static let kind = "tern-call"
  static let service: String? = "tern-service"
  var name: String
}

/// What an app throws that says nothing further.
struct AppRefusal: Error {}
