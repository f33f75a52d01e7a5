import Foundation
import GRDB
import Synchronization
import Tern
import Testing

/// What a worker writes, and how durably.
@Suite struct CommitTests {
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
      #expect(commits.take().count <= 42)
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

  @Test func `an end that the app refuses is no matter of those that end beside it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try db.execute(
          sql: """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (parent REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TRIGGER refused AFTER INSERT ON grdb_tern_jobhistory WHEN new.id = 2
            BEGIN INSERT INTO child VALUES (9); END
            """)
        for name in ["a", "b", "c"] { try queue.enqueue(Patient(), lane: name, in: db) }
      }
      try rig.live(JobWorker(queue) { $0.handle(Patient.self) { _, _ in } }, until: 1)
      let states = try rig.database.read { try queue.records(in: $0).map(\.state) }
      #expect(states == [.done, .waiting, .done])
      #expect(try rig.record(queue, JobID(rawValue: 2)).failures == 1)
    }
  }
}
