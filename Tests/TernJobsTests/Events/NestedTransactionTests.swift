import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// What is told where the app opens a transaction as it hears of the end of another.
@Suite("Events: transactions that the app opens as another ends")
struct NestedTransactionTests {
  enum Nested: CaseIterable {
    case empty, undone, committed
  }

  /// As soon as the open transaction is committed, another one.
  private func nest(
    _ nested: Nested, _ queue: JobQueue, after db: Database
  ) {
    db.afterNextTransaction { db in
      do {
        try db.inTransaction {
          if nested != .empty { try queue.enqueue(Tidy(name: "nested"), in: db) }
          return nested == .committed ? .commit : .rollback
        }
      } catch {
        Issue.record(error)
      }
    }
  }

  @Test(arguments: Nested.allCases)
  func `what the outer transaction did is told once, whatever becomes of the nested one`(
    _ nested: Nested
  ) throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      try rig.write { db in
        nest(nested, queue, after: db)
        try queue.enqueue(Tidy(name: "outer"), in: db)
      }
      let inner = nested == .committed ? ["0 #2 enqueued, due in 0.0"] : []
      #expect(rig.notes() == ["0 #1 enqueued, due in 0.0"] + inner)
      // The next one's, and nothing of those before.
      let isCancelled = try rig.write { db in
        nest(nested, queue, after: db)
        return try queue.cancel(JobID(rawValue: 1), in: db)
      }
      #expect(isCancelled)
      #expect(rig.notes().first == "0 #1 cancelled")
    }
  }

  @Test(arguments: Nested.allCases)
  func `a worker's steps are told, whatever their commit nests`(_ nested: Nested) throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          try await context.step("scan") {
          } commit: { db in
            nest(nested, queue, after: db)
          }
        }
      }
      try rig.drain(worker)
      #expect(
        rig.notes().filter { $0.contains("#1") } == [
          "0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)",
          "0 #1 stepped scan (1, start 1)", "0 #1 done in 0.0 at 0.0 (1, start 1)",
        ])
    }
  }

  @Test(arguments: Nested.allCases)
  func `a job keeps its file, whatever its commit nests`(_ nested: Nested) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      var file: JobFile? = try rig.perform { try await queue.attach(Data("x".utf8), as: "x") }
      try rig.write { db in
        nest(nested, queue, after: db)
        try queue.enqueue(Scan(shelf: "1"), files: [file!], in: db)
      }
      // Once more it cannot be given.
      #expect(throws: (any Error).self) {
        try rig.write { try queue.enqueue(Scan(shelf: "2"), files: [file!], in: $0) }
      }
      file = nil
      #expect(try rig.storedFiles().count == 1)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          rig.note(try String(contentsOf: context.file("x"), encoding: .utf8))
        }
        $0.handle(Tidy.self) { _, _ in }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 x"])
    }
  }

  @Test func `what SQLite itself rolled back is not told with the next commit`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      for name in ["a", "b"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      // As a full disk does.
      try rig.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER no BEFORE UPDATE ON grdb_tern_job WHEN NEW.id = 2
            BEGIN SELECT RAISE(ROLLBACK, 'no'); END
            """)
      }
      _ = rig.notes()
      _ = try rig.die(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      _ = try rig.enqueue(queue, Tidy(name: "c"))
      #expect(rig.notes() == ["0 #3 enqueued, due in 0.0"])
    }
  }

  @Test func `a file is free again where SQLite itself rolled back what gave it to a job`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let file = try rig.perform { try await queue.attach(Data("x".utf8), as: "x") }
      try rig.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER no BEFORE INSERT ON book
            BEGIN SELECT RAISE(ROLLBACK, 'no'); END
            """)
      }
      #expect(throws: DatabaseError.self) {
        try rig.write { db in
          try queue.enqueue(Scan(shelf: "1"), files: [file], in: db)
          try db.execute(sql: "INSERT INTO book VALUES ('')")
        }
      }
      try rig.write { db in
        try queue.enqueue(Scan(shelf: "2"), files: [file], in: db)
        let error = #expect(throws: JobQueueError.self) {
          try queue.enqueue(Scan(shelf: "3"), files: [file], in: db)
        }
        #expect(error?.code == .fileInUse)
      }
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { job, context in
          let text = try String(contentsOf: context.file("x"), encoding: .utf8)
          rig.note("\(job.shelf) \(text)")
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 2 x"])
    }
  }

  @Test func `a step's commit that is interrupted as it is given its files runs again`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Scan(shelf: "1"))
      let interruptions = Mutex(0)
      let interrupt = DatabaseFunction("interrupt", argumentCount: 0) { _ in
        let isFirst = interruptions.withLock { count in
          count += 1
          return count == 1
        }
        if isFirst { rig.database.interrupt() }
        return 0
      }
      try rig.write { db in
        db.add(function: interrupt)
        try db.execute(
          sql: """
            CREATE TEMP TRIGGER late AFTER INSERT ON grdb_tern_jobfile WHEN NEW.name = 'b'
            BEGIN INSERT INTO book SELECT interrupt() FROM (VALUES (1), (2), (3)); END
            """)
      }
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          _ = try await context.step("make") { files in
            rig.note("make")
            for name in ["a", "b"] { try Data(name.utf8).write(to: files.create(name)) }
            return 2
          }
          for name in ["a", "b"] {
            rig.note(try String(contentsOf: context.file(name), encoding: .utf8))
          }
        }
      }
      try rig.drain(worker)
      #expect(interruptions.withLock { $0 } > 3)
      #expect(rig.notes().map { $0.split(separator: " ")[1] } == ["make", "a", "b"])
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  /// Opens transactions and rolls them back as it hears of a commit.
  private final class Undoing: TransactionObserver {
    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidRollback(_ db: Database) {}
    func databaseDidCommit(_ db: Database) {
      for _ in 1...2 {
        do {
          try db.inTransaction {
            try db.execute(sql: "INSERT INTO book VALUES ('')")
            return .rollback
          }
        } catch {
          Issue.record(error)
        }
      }
    }
  }

  @Test func `a worker is woken by a commit, whatever others undo as they hear of that before`()
    throws
  {
    try Rig.run { rig in
      rig.database.add(transactionObserver: Undoing(), extent: .databaseLifetime)
      let queue = try rig.open()
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      try rig.live(worker, until: 60) {
        try await rig.sleep(5)
        _ = try rig.enqueue(queue, Tidy(name: "a"))
      }
      #expect(rig.notes() == ["5 a"])
    }
  }
}
