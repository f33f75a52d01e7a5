import GRDB
import Synchronization
import Testing

@testable import TernDatabase

@Suite("Statements: transactions of Tern's own")
struct OwnTransactionTests {
  /// What an observer was told, in order.
  private final class Observer: TransactionObserver, Sendable {
    struct Refusal: Error {}
    let events = Mutex<[String]>([])
    let refuses = Mutex(false)

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == "t" }
    func databaseDidChange() { events.withLock { $0.append("notified") } }
    func databaseDidChange(with event: DatabaseEvent) { events.withLock { $0.append("change") } }
    func databaseWillCommit() throws { if refuses.withLock({ $0 }) { throw Refusal() } }
    func databaseDidCommit(_ db: Database) { events.withLock { $0.append("commit") } }
    func databaseDidRollback(_ db: Database) { events.withLock { $0.append("rollback") } }

    func take() -> [String] {
      events.withLock { events in
        defer { events = [] }
        return events
      }
    }
  }

  private struct Thrown: Error {}

  private let observer = Observer()
  /// Used on the queue alone.
  private nonisolated(unsafe) let statements = StatementMemory()

  private func queue() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.write { try $0.execute(sql: "CREATE TABLE t (a INTEGER UNIQUE)") }
    queue.add(transactionObserver: observer)
    return queue
  }

  private func count(_ queue: DatabaseQueue) throws -> Int? {
    try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
  }

  @Test(
    "observers hear of changes, commits and rollbacks, and the next transaction is as the first")
  func observers() throws {
    let queue = try queue()
    for round in 1...3 {
      try queue.writeWithoutTransaction { db in
        try db.inOwnTransaction(statements) {
          try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [round])
        }
        #expect(!db.isInsideTransaction)
      }
      #expect(observer.take() == ["change", "commit"])
      #expect(throws: Thrown.self) {
        try queue.writeWithoutTransaction { db in
          try db.inOwnTransaction(statements) {
            try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: [round + 10])
            throw Thrown()
          }
        }
      }
      #expect(observer.take() == ["change", "rollback"])
      #expect(try count(queue) == round)
    }
  }

  @Test func `an observer that refuses a commit has it rolled back, with its error`() throws {
    let queue = try queue()
    observer.refuses.withLock { $0 = true }
    #expect(throws: Observer.Refusal.self) {
      try queue.writeWithoutTransaction { db in
        try db.inOwnTransaction(statements) { try db.execute(sql: "INSERT INTO t VALUES (1)") }
      }
    }
    #expect(observer.take() == ["change", "rollback"])
    observer.refuses.withLock { $0 = false }
    #expect(try count(queue) == 0)
    try queue.writeWithoutTransaction { db in
      try db.inOwnTransaction(statements) { try db.execute(sql: "INSERT INTO t VALUES (1)") }
    }
    #expect(observer.take() == ["change", "commit"])
  }

  @Test func `what a savepoint in it takes back, no observer hears of`() throws {
    let queue = try queue()
    try queue.writeWithoutTransaction { db in
      try db.inOwnTransaction(statements) {
        try db.inSavepoint {
          try db.execute(sql: "INSERT INTO t VALUES (1)")
          return .rollback
        }
        try db.inSavepoint {
          try db.execute(sql: "INSERT INTO t VALUES (2)")
          return .commit
        }
      }
    }
    #expect(observer.take() == ["change", "commit"])
    #expect(try count(queue) == 1)
  }

  @Test func `a value observation sees what a notified transaction wrote past GRDB`() async throws {
    let queue = try queue()
    var counts = ValueObservation.tracking {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM t") ?? 0
    }
    .values(in: queue).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    for round in 1...2 {
      try await queue.writeWithoutTransaction { db in
        try db.inOwnTransaction(statements) {
          let insert = try FastStatement(db, "INSERT INTO t VALUES (?)")
          insert.bind(1, Int64(round))
          try insert.run()
          try db.notifyChanges(in: Table("t"))
        }
      }
      #expect(try await counts.next() == round)
    }
  }

  @Test func `a transaction that a statement ended is not taken for committed`() throws {
    let queue = try queue()
    let error = #expect(throws: DatabaseError.self) {
      try queue.writeWithoutTransaction { db in
        try db.inOwnTransaction(statements) {
          try db.execute(sql: "INSERT INTO t VALUES (1)")
          try? db.execute(sql: "INSERT OR ROLLBACK INTO t VALUES (1)")
        }
      }
    }
    #expect(error?.resultCode == .SQLITE_ABORT)
    #expect(try count(queue) == 0)
    try queue.writeWithoutTransaction { db in
      try db.inOwnTransaction(statements) { try db.execute(sql: "INSERT INTO t VALUES (1)") }
    }
    #expect(try count(queue) == 1)
  }

  // MARK: - Remembered statements

  @Test func `a remembered statement is the one that GRDB has, as long as that has it`() throws {
    let queue = try queue()
    try queue.write { db in
      func ask(_ sql: String) throws -> Int64? {
        let statement = try statements.statement(db, sql)
        return try statement.first { statement.int64(0) }
      }
      let first = try statements.statement(db, "SELECT 1").pointer
      #expect(try statements.statement(db, "SELECT 1").pointer == first)
      #expect(try FastStatement(db, "SELECT 1").pointer == first)
      // More than there is room for, many of one length.
      for round in 0..<3 {
        for number in 0..<900 {
          #expect(try ask("SELECT \(number) + 1000") == Int64(number + 1000), "round \(round)")
        }
      }
      // The schema changes, and GRDB forgets its statements.
      #expect(try ask("SELECT count(*) FROM t") == 0)
      try db.execute(sql: "DROP TABLE t; CREATE TABLE t (b); INSERT INTO t VALUES (1)")
      #expect(try ask("SELECT count(*) FROM t") == 1)
    }
  }

  @Test func `a database can be closed while statements of it are remembered`() throws {
    let queue = try queue()
    _ = try queue.write { db in
      let statement = try statements.statement(db, "SELECT count(*) FROM t")
      return try statement.first { statement.int64(0) }
    }
    #expect(throws: Never.self) { try queue.close() }
  }
}
