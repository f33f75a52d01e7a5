import Foundation
import GRDB
import Synchronization
import Tern
import TestDevice
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("book"), SyncTable("tag")])
private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT);
  CREATE TABLE tag (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
  """

enum Kind: String, CaseIterable { case pool, queue, memory }

/// A database of each kind, with its folder removed afterwards.
private func with<T>(_ kind: Kind, _ body: (any DatabaseWriter, String) async throws -> T)
  async throws -> T
{
  let folder = FileManager.default.temporaryDirectory.path + "/guest-\(UUID())"
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let path = folder + "/app.sqlite"
  let database: any DatabaseWriter =
    switch kind {
    case .pool: try DatabasePool(path: path)
    case .queue: try DatabaseQueue(path: path)
    case .memory: try DatabaseQueue()
    }
  return try await body(database, path)
}

/// Waits for a value; GRDB may tell of the same one more than once.
func expectNext<T: Equatable>(
  _ value: T, _ values: inout AsyncValueObservation<T>.Iterator
) async throws {
  while let next = try await values.next() {
    if next == value { return }
  }
  Issue.record("the observation ended")
}

private func run(_ program: String, _ arguments: [String]) throws {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: program)
  process.arguments = arguments
  try process.run()
  process.waitUntilExit()
  #expect(process.terminationStatus == 0)
}

@Suite("Replica: databases of every kind")
struct GuestDatabaseTests {
  @Test(arguments: Kind.allCases)
  func `a database of any kind syncs, is opened again and is closed`(_ kind: Kind) async throws {
    try await with(kind) { database, path in
      let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
      do {
        let a = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
        try a.execute("INSERT INTO book VALUES ('1', 'Dune'); INSERT INTO tag VALUES ('sf', 1)")
        try b.execute("INSERT INTO book VALUES ('2', 'Emma')")
        try meet(a, b)
        try expectEqual(a, b, "book", "tag")
      }
      try database.close()
      if kind == .memory { return }
      let again = try Device(DatabaseQueue(path: path), schema, id: 9)
      #expect(try again.store.replicaID() == ReplicaID(high: 0, low: 1))
      try expectEqual(again, b, "book", "tag")
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: Kind.allCases)
  func `observations of every table see merges`(_ kind: Kind) async throws {
    try await with(kind) { database, _ in
      let a = try Device(schema, id: 1) { try $0.execute(sql: creation) }
      let b = try Device(schema, id: 2, database: database) { try $0.execute(sql: creation) }
      for (table, key, column) in [("book", "isbn", "title"), ("tag", "name", "n")] {
        let observation = ValueObservation.tracking {
          try String?.fetchAll($0, sql: "SELECT \(column) FROM \(table)")
        }
        var values = observation.values(in: database).makeAsyncIterator()
        try await expectNext([], &values)
        try a.execute("INSERT INTO \(table) (\(key), \(column)) VALUES ('1', '5')")
        try b.pull(from: a)
        try await expectNext(["5"], &values)
        try a.execute("UPDATE \(table) SET \(column) = '6'")
        try b.pull(from: a)
        try await expectNext(["6"], &values)
        try a.execute("DELETE FROM \(table)")
        try b.pull(from: a)
        try await expectNext([], &values)
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `observations see what the app's triggers make of a merge`() async throws {
    let a = try Device(schema, id: 1) { try $0.execute(sql: creation) }
    let b = try Device(schema, id: 2) {
      try $0.execute(
        sql: creation + """
          CREATE TABLE audit (isbn);
          CREATE TRIGGER auditing AFTER INSERT ON book BEGIN
            INSERT INTO audit VALUES (NEW.isbn);
          END;
          """)
    }
    let observation = ValueObservation.tracking {
      try String.fetchAll($0, sql: "SELECT isbn FROM audit")
    }
    var values = observation.values(in: b.database).makeAsyncIterator()
    try await expectNext([], &values)
    try a.execute("INSERT INTO book VALUES ('1', 'Dune')")
    try b.pull(from: a)
    try await expectNext(["1"], &values)
  }

  @Test(arguments: [Kind.pool, .queue])
  func `writes by the sqlite3 program and by another process are captured`(_ kind: Kind)
    async throws
  {
    try await with(kind) { database, path in
      let a = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
      let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
      try run(
        "/usr/bin/sqlite3",
        [path, "INSERT INTO book VALUES ('1', 'Dune'); UPDATE book SET title = 'Shell'"])
      #expect(try a.store.seal().count == 1)
      let script = """
        import sqlite3
        db = sqlite3.connect('\(path)')
        db.execute("INSERT OR REPLACE INTO book VALUES ('1', 'Python')")
        db.execute("INSERT INTO tag VALUES ('py', 3)")
        db.commit()
        """
      try run("/usr/bin/python3", ["-c", script])
      try meet(a, b)
      #expect(try b.column("SELECT title FROM book") == ["Python"])
      #expect(try b.column("SELECT n FROM tag") == ["3"])
      try run("/usr/bin/sqlite3", [path, "DELETE FROM book"])
      try meet(a, b)
      #expect(try b.column("SELECT title FROM book") == [])
      try expectEqual(a, b, "book", "tag")
    }
  }

  @Test func `an attached database that is a replica itself is left alone`() async throws {
    try await with(.queue) { other, path in
      let stored = try Device(schema, id: 1, database: other) { try $0.execute(sql: creation) }
      try stored.commit("INSERT INTO book VALUES ('1', 'theirs')")
      try other.close()
      let database = try DatabaseQueue()
      try database.writeWithoutTransaction {
        try $0.execute(sql: "ATTACH ? AS other", arguments: [path])
      }
      let (a, b) = (
        try Device(database, schema, id: 2, migrator: .steps([creation])),
        try Device(schema, id: 3) { try $0.execute(sql: creation) }
      )
      try a.execute("INSERT INTO main.book VALUES ('2', 'Emma')")
      try meet(a, b)
      let again = try Device(schema, id: 4, database: database)
      try again.execute("UPDATE main.book SET title = 'Emma, again'")
      try meet(again, b)
      #expect(try b.column("SELECT title FROM book") == ["Emma, again"])
      #expect(try again.column("SELECT title FROM other.book") == ["theirs"])
      #expect(try again.column("SELECT count(*) FROM other.grdb_tern_main_log") == ["1"])
      #expect(try again.store.counts().operations == 2)
    }
  }
}
