import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// What a worker writes, and how durably.
@Suite("Worker: what a worker writes, and how durably")
struct CommitTests {
  /// How durable each commit of one connection was.
  private final class Commits: TransactionObserver {
    private let levels = Mutex<[Int]>([])

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { true }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}

    func databaseDidCommit(_ db: Database) {
      let level = try? Int.fetchOne(db, sql: "PRAGMA synchronous")
      levels.withLock { $0.append(level ?? -1) }
    }

    func take() -> [Int] {
      levels.withLock { levels in
        defer { levels = [] }
        return levels
      }
    }
  }

  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `an end and the next claims are one commit`(_ seed: UInt64) throws {
    try Rig.run(seed: seed, .pool) { rig in
      let queue = try rig.open()
      try rig.write { db in
        for number in 0..<40 { try queue.enqueue(Tidy(name: "\(number)"), in: db) }
      }
      let commits = Commits()
      rig.database.add(transactionObserver: commits)
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      // One for the beginning and one for the first claims; two for each job before.
      #expect(commits.take().count < 42)
      #expect(try rig.record(queue, JobID(rawValue: 40)).state == .done)
    }
  }

  @Test func `only what has ended waits for the disk, and the app's own commits as ever`() throws {
    try Rig.run(.pool) { rig in
      let queue = try rig.open()
      let commits = Commits()
      rig.database.add(transactionObserver: commits)
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      #expect(commits.take() == [2])
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in try await context.report(progress: 1) }
        })
      // The beginning, the claim, the report, and the end.
      let levels = commits.take()
      #expect(levels.first == 2 && levels.last == 2)
      #expect(levels.filter { $0 == 1 }.count == 2)
      try rig.write { try $0.execute(sql: "INSERT INTO book VALUES ('b')") }
      #expect(commits.take() == [2])
    }
  }

  /// Which jobs ended in a transaction that was rolled back, the first.
  private final class Rollbacks: TransactionObserver, Sendable {
    private let jobs = Mutex<(now: [Int64], first: [Int64]?)>(([], nil))

    var first: [Int64]? { jobs.withLock { $0.first } }

    func ends(_ job: Int64) { jobs.withLock { $0.now.append(job) } }
    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { jobs.withLock { $0.now = [] } }
    func databaseDidRollback(_ db: Database) {
      jobs.withLock { $0 = ([], $0.first ?? $0.now) }
    }
  }

  /// What an app can put into the way of an end: late, at the commit, or at once.
  private static let late = """
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (parent REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER refused AFTER INSERT ON grdb_tern_jobhistory
    WHEN (SELECT count(*) FROM grdb_tern_jobhistory) = 3 BEGIN INSERT INTO child VALUES (9); END
    """
  private static let atOnce = """
    CREATE TRIGGER refused AFTER INSERT ON grdb_tern_jobhistory
    WHEN (SELECT count(*) FROM grdb_tern_jobhistory) = 3
    BEGIN SELECT raise(ABORT, 'not that one'); END
    """

  @Test(arguments: [late, atOnce])
  func `an end that the app refuses is no matter of those that end beside it`(_ refusal: String)
    throws
  {
    var most = 0
    for seed in 1...20 as ClosedRange<UInt64> { most = max(most, try endTogether(refusal, seed)) }
    // Seeds differ in how many are stored in one transaction; with the refused one there were others.
    #expect(most > 1)
  }

  /// - Returns: how many ends were in the first transaction that was refused.
  private func endTogether(_ refusal: String, _ seed: UInt64) throws -> Int {
    var together = 0
    try Rig.run(seed: seed) { rig in
      let queue = try rig.open()
      let rollbacks = Rollbacks()
      rig.database.add(transactionObserver: rollbacks)
      try rig.write { db in
        db.add(
          function: DatabaseFunction("ends", argumentCount: 1) { values in
            rollbacks.ends(Int64.fromDatabaseValue(values[0])!)
            return nil
          })
        try db.execute(
          sql: """
            CREATE TRIGGER ending BEFORE INSERT ON grdb_tern_jobhistory
            BEGIN SELECT ends(new.id); END
            """)
        try db.execute(sql: refusal)
        for name in ["a", "b", "c"] { try queue.enqueue(Patient(), lane: name, in: db) }
      }
      try rig.live(
        JobWorker(queue) { $0.handle(Patient.self) { _, _ in rig.note("ran") } }, until: 1)
      together = try #require(rollbacks.first).count
      // None of them runs again.
      #expect(rig.notes() == ["0 ran", "0 ran", "0 ran"])
      let records = try rig.database.read { try queue.records(in: $0) }
      #expect(records.filter { $0.state == .done }.count == 2)
      #expect(records.filter { $0.state == .waiting }.map(\.failures) == [1])
    }
    return together
  }

  @Test func `an end is stored as it was when the app refuses only the claims beside it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try db.execute(
          sql: """
            CREATE TRIGGER refused AFTER UPDATE OF state ON grdb_tern_job
            WHEN new.id = 2 AND new.state = 1 BEGIN SELECT raise(ABORT, 'not that one'); END
            """)
        for name in ["a", "b"] { try queue.enqueue(Tidy(name: name), in: db) }
      }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      #expect(try rig.die(worker) is DatabaseError)
      #expect(try rig.record(queue, JobID(rawValue: 1)).state == .done)
      #expect(rig.notes() == ["0 a"])
    }
  }

  /// A network that is another one at each look, and tells nobody.
  private final class Restless: NetworkPathSource {
    private let generation = Mutex<UInt64>(0)

    var path: NetworkPath {
      generation.withLock { generation in
        generation += 1
        return NetworkPath(hasRoute: true, generation: generation)
      }
    }

    func changes() -> AsyncStream<NetworkPath> { AsyncStream { $0.finish() } }
  }

  @Test func `a job whose claim is committed as the run ends did not die`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        // Refuses to wake who reached nobody, after the end and the claim were committed, and then
        // to take the claim back.
        try db.execute(
          sql: """
            CREATE TRIGGER refused AFTER UPDATE OF unreached ON grdb_tern_job
            WHEN old.state = 0 AND new.state = 0 AND old.unreached > 0 OR old.id = 2 AND old.state = 1
            BEGIN SELECT raise(ABORT, 'not now'); END
            """)
        try queue.enqueue(Scan(shelf: "1"), in: db)
        try queue.enqueue(Tidy(name: "b"), in: db)
      }
      let worker = JobWorker(queue, concurrency: 1, path: Restless()) {
        $0.handle(Scan.self) { _, _ in throw Failure(.unreachable) }
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      #expect(try rig.die(worker) is DatabaseError)
      let claimed = JobID(rawValue: 2)
      #expect(try rig.record(queue, claimed).state == .running)
      try rig.write { try $0.execute(sql: "DROP TRIGGER refused") }
      let later = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          rig.note(job.name)
          throw Failure(.permanent)
        }
      }
      try rig.live(later, until: 0.5)
      #expect(rig.notes() == ["0 b"])
      // Its own failure is all that is known of it.
      #expect(
        try rig.database.read { try queue.failedAttempts(of: claimed, in: $0).map(\.start) } == [2])
    }
  }
}
