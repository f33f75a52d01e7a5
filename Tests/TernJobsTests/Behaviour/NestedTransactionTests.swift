import Foundation
import GRDB
import Tern
import Testing

/// What is told where the app opens a transaction as it hears of the end of another.
@Suite struct NestedTransactionTests {
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
      // Once more it can not be given.
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
}
