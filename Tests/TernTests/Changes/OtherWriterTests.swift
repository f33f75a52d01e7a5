import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import TestProcesses
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("book"), SyncTable("tag")])
private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT);
  CREATE TABLE tag (name TEXT NOT NULL PRIMARY KEY)
  """

/// Who writes beside the replica's own connection.
enum OtherWriter: CaseIterable {
  /// The `sqlite3` program.
  case process
  /// One of this process that knows nothing of Tern.
  case connection

  func write(_ sql: String, to path: String) throws {
    switch self {
    case .process: _ = try sqlite3(path, [sql])
    case .connection: try DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
    }
  }
}

/// What one table's observers are told.
private final class Told: TransactionObserver, Sendable {
  let table: String
  private let count = Mutex(0)
  private let mayCommit = Mutex(true)

  init(_ table: String, in database: any DatabaseWriter) {
    self.table = table
    database.add(transactionObserver: self, extent: .databaseLifetime)
  }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == table }
  func databaseDidChange() { count.withLock { $0 += 1 } }
  func databaseDidChange(with event: DatabaseEvent) { databaseDidChange() }
  func databaseWillCommit() throws {
    if mayCommit.withLock({ !$0 }) { throw DatabaseError(resultCode: .SQLITE_ABORT) }
  }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}

  func take() -> Int {
    count.withLock { count in
      defer { count = 0 }
      return count
    }
  }

  func refusing<T>(_ body: () throws -> T) rethrows -> T {
    mayCommit.withLock { $0 = false }
    defer { mayCommit.withLock { $0 = true } }
    return try body()
  }
}

@Suite("Changes: what others wrote is told to observers with its seal", .timeLimit(.minutes(1)))
struct OtherWriterTests {
  private func with(
    _ kind: Kind, _ body: (Device, _ path: String) async throws -> Void
  ) async throws {
    try await inTemporaryFolder { folder in
      let path = "\(folder)/app.sqlite"
      let database: any DatabaseWriter =
        kind == .pool ? try DatabasePool(path: path) : try DatabaseQueue(path: path)
      let device = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
      try await body(device, path)
    }
  }

  @Test(arguments: [Kind.pool, .queue], OtherWriter.allCases)
  func `an observation has their rows once they are sealed`(_ kind: Kind, _ other: OtherWriter)
    async throws
  {
    try await with(kind) { a, path in
      let observation = ValueObservation.tracking {
        try String.fetchAll($0, sql: "SELECT title FROM book ORDER BY isbn")
      }
      var values = observation.values(in: a.database).makeAsyncIterator()
      try await expectNext([], &values)
      try other.write("INSERT INTO book VALUES ('1', 'Dune'), ('2', 'Emma')", to: path)
      try await a.replica.seal()
      try await expectNext(["Dune", "Emma"], &values)
      try other.write("UPDATE book SET title = 'Dune, again' WHERE isbn = '1'", to: path)
      try await SyncEngine(a.replica, remote: MemoryRemote()).syncOnce()
      try await expectNext(["Dune, again", "Emma"], &values)
      try other.write("DELETE FROM book", to: path)
      try await a.replica.write { try $0.execute(sql: "INSERT INTO tag VALUES ('sf')") }
      try await expectNext([], &values)
    }
  }

  @Test(arguments: [Kind.pool, .queue], OtherWriter.allCases)
  func `it is told once, of the tables that they wrote to, and own writes are not told again`(
    _ kind: Kind, _ other: OtherWriter
  ) async throws {
    try await with(kind) { a, path in
      let (book, tag) = (Told("book", in: a.database), Told("tag", in: a.database))
      try other.write("INSERT INTO book VALUES ('1', 'Dune'), ('2', 'Emma')", to: path)
      #expect(try a.store.seal().count == 1)
      #expect((book.take(), tag.take()) == (1, 0))
      for _ in 0..<3 {
        #expect(try a.store.seal().isEmpty)
        #expect(try await a.replica.seal().isEmpty)
      }
      #expect((book.take(), tag.take()) == (0, 0))

      try a.execute("INSERT INTO book VALUES ('3', 'Ulysses'); INSERT INTO tag VALUES ('sf')")
      #expect((book.take(), tag.take()) == (1, 1))
      #expect(try a.store.seal().count == 1)
      #expect((book.take(), tag.take()) == (0, 0))
      try await a.replica.write { try $0.execute(sql: "DELETE FROM book WHERE isbn = '3'") }
      #expect((book.take(), tag.take()) == (1, 0))

      try other.write("INSERT INTO tag VALUES ('py')", to: path)
      #expect(try a.store.seal().count == 1)
      #expect((book.take(), tag.take()) == (0, 1))
    }
  }

  @Test(arguments: [Kind.pool, .queue])
  func `a seal that is rolled back leaves it to the next one`(_ kind: Kind) async throws {
    try await with(kind) { a, path in
      let book = Told("book", in: a.database)
      try OtherWriter.connection.write("INSERT INTO book VALUES ('1', 'Dune')", to: path)
      book.refusing { _ = #expect(throws: DatabaseError.self) { try a.store.seal() } }
      _ = book.take()
      #expect(try a.store.seal().count == 1)
      #expect(book.take() == 1)
    }
  }

  @Test(arguments: [Kind.pool, .queue])
  func `an opening that seals what others wrote tells it too`(_ kind: Kind) async throws {
    try await with(kind) { a, path in
      let book = Told("book", in: a.database)
      try OtherWriter.process.write("INSERT INTO book VALUES ('1', 'Dune')", to: path)
      let again = try Device(schema, id: 9, database: a.database)
      #expect(try again.store.seal().isEmpty)
      #expect(book.take() > 0)
    }
  }
}
