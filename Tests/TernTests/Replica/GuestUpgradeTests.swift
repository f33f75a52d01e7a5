import Foundation
import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT, scans INTEGER NOT NULL DEFAULT 0)
  """
private let shelf = "CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name, n INTEGER NOT NULL)"
private let book = SyncTable("book", merge: ["scans": .counter])
private let v1 = SyncSchema(version: 1, tables: [book])
private let both = SyncSchema(
  version: 2, tables: [book, SyncTable("shelf", merge: ["n": .counter])])

private func device(_ id: UInt64, _ schema: SyncSchema, _ steps: String...) throws -> Device {
  try Device(DatabaseQueue(), schema, id: id, migrator: .steps(steps))
}

@Suite("Replica: opening again, also with a new schema")
struct GuestUpgradeTests {
  @Test func `opening again changes nothing`() throws {
    let a = try device(1, both, creation, shelf)
    try a.execute("INSERT INTO book VALUES ('1', 'Dune', 1)")
    try a.store.seal()
    let state = try a.store.canonicalState()
    let objects = try a.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    for _ in 1...3 {
      let again = try a.upgraded(both, creation, shelf)
      #expect(try again.store.replicaID() == ReplicaID(high: 0, low: 1))
      #expect(try again.store.canonicalState() == state)
      #expect(try again.store.counts().operations == 1)
      #expect(try a.rows("SELECT type, name, sql FROM sqlite_master ORDER BY name") == objects)
    }
  }

  @Test func `opening again what is as it was writes nothing`() throws {
    try withTemporaryFolder { folder in
      let a = try Device(
        DatabaseQueue(path: "\(folder)/a.sqlite"), both, id: 1, migrator: .steps([creation, shelf]))
      try a.execute("INSERT INTO book VALUES ('1', 'Dune', 1)")
      try a.store.seal()
      let other = try DatabaseQueue(path: "\(folder)/a.sqlite")
      // SQLite counts what others wrote to the file.
      let seen = { try other.read { try Int.fetchOne($0, sql: "PRAGMA data_version") } }
      let before = try seen()
      _ = try a.upgraded(both, creation, shelf)
      #expect(try seen() == before)
      _ = try a.upgraded(SyncSchema(version: 3, tables: both.tables), creation, shelf)
      #expect(try seen() != before)
    }
  }

  @Test func `the public open migrates too, and seals what was noted before`() async throws {
    let database = try DatabaseQueue()
    let first = try await Replica.open(
      database, schema: v1, migrator: .steps([creation]), durability: .processCrash)
    try await database.write { try $0.execute(sql: "INSERT INTO book (isbn) VALUES ('1')") }
    let second = try await Replica.open(
      database, schema: both, migrator: .steps([creation, shelf]))
    #expect(try second.store.counts().operations == 1)
    #expect(try second.store.replicaID() == first.store.replicaID())
    try await second.write { try $0.execute(sql: "INSERT INTO shelf VALUES ('s', 'S', 2)") }
    #expect(try second.store.counts().operations == 2)
  }

  @Test func `eraseDatabaseOnSchemaChange erases once, and the rows come back under a new id`()
    throws
  {
    let b = try device(2, v1, creation)
    var migrator = DatabaseMigrator.steps([creation])
    migrator.eraseDatabaseOnSchemaChange = true
    var a = try Device(DatabaseQueue(), v1, id: 1, migrator: migrator)
    try a.execute("INSERT INTO book VALUES ('1', 'Dune', 3)")
    try meet(a, b)
    a = try Device(a.database, v1, id: 3, migrator: migrator)
    #expect(try a.store.replicaID() == ReplicaID(high: 0, low: 1))
    #expect(try a.column("SELECT title FROM book") == ["Dune"])

    migrator = .steps([creation.replacing("title TEXT", with: "title TEXT, author TEXT")])
    migrator.eraseDatabaseOnSchemaChange = true
    try a.execute("UPDATE book SET title = 'lost with the database'")
    a = try Device(a.database, v1, id: 4, migrator: migrator)
    #expect(try a.store.replicaID() == ReplicaID(high: 0, low: 4))
    #expect(try a.column("SELECT title FROM book") == [])
    try meet(a, b)
    #expect(try a.column("SELECT title || scans FROM book") == ["Dune3"])
    try a.execute("UPDATE book SET scans = 4, author = 'A'")
    try meet(a, b)
    #expect(try b.column("SELECT title || scans FROM book") == ["Dune4"])
  }

  @Test func `a table that left the schema is captured no more, and adopted when it comes back`()
    throws
  {
    var (a, b) = (try device(1, both, creation, shelf), try device(2, both, creation, shelf))
    try a.execute("INSERT INTO shelf VALUES ('s', 'S', 1), ('t', 'T', 1)")
    try meet(a, b)
    try a.execute("UPDATE shelf SET name = 'sealed' WHERE id = 's'")
    a = try Device(a.database, v1, id: 9)
    #expect(try a.store.counts().operations == 2)
    try a.execute("INSERT INTO shelf VALUES ('u', 'U', 1)")
    try a.execute("DELETE FROM shelf WHERE id = 't'")
    #expect(try a.store.seal().isEmpty)
    #expect(try a.column("SELECT name FROM sqlite_master WHERE type = 'trigger'").count == 6)

    try b.execute("UPDATE shelf SET n = n + 4")
    try meet(a, b)
    #expect(try a.store.counts().pending[.schema] == 1)
    a = try Device(a.database, both, id: 9)
    #expect(try a.store.counts().pending[.schema] == 0)
    try meet(a, b)
    try meet(a, b)
    #expect(try b.column("SELECT id || name || n FROM shelf ORDER BY id") == ["ssealed5", "uU1"])
    try expectEqual(a, b, "shelf", "book")
  }

  @Test func `a table that joins the schema brings its rows`() throws {
    var (a, b) = (try device(1, v1, creation, shelf), try device(2, both, creation, shelf))
    try a.execute("INSERT INTO shelf VALUES ('s', 'S', 1)")
    try a.execute("INSERT INTO book VALUES ('1', 'Dune', 3)")
    try b.execute("INSERT INTO shelf VALUES ('t', 'T', 7)")
    try meet(a, b)
    #expect(try a.column("SELECT id FROM shelf") == ["s"])
    #expect(try a.store.counts().pending[.schema] == 1)
    a = try Device(a.database, both, id: 9)
    try meet(a, b)
    #expect(try b.column("SELECT id || n FROM shelf ORDER BY id") == ["s1", "t7"])
    #expect(try a.store.counts().operations == 3)
    try expectEqual(a, b, "shelf", "book")
  }

  @Test func `operations for a table that is not here yet wait for it, counters once`() throws {
    var (a, b) = (try device(1, v1, creation), try device(2, both, creation, shelf))
    try b.execute("INSERT INTO shelf VALUES ('s', 'S', 1); INSERT INTO book VALUES ('1', 'D', 2)")
    try b.store.seal()
    try b.execute("UPDATE shelf SET n = n + 1; UPDATE book SET scans = scans + 1")
    try meet(a, b)
    #expect(try a.column("SELECT scans FROM book") == ["3"])
    #expect(try a.store.counts().pending[.schema] == 2)
    for _ in 1...2 {
      a = try a.upgraded(both, creation, shelf)
      #expect(try a.store.counts().pending[.schema] == 0)
      try expectEqual(a, b, "shelf", "book")
    }
    #expect(try a.column("SELECT n FROM shelf") == ["2"])
  }

  @Test func `a migration that fails leaves what was captured before captured`() throws {
    let a = try device(1, v1, creation)
    try a.execute("INSERT INTO book VALUES ('1', 'Dune', 1)")
    #expect(throws: DatabaseError.self) { try a.upgraded(v1, creation, "no SQL at all") }
    try a.execute("UPDATE book SET title = 'still noted'")
    #expect(try a.store.seal().count == 1)
    #expect(throws: SchemaError.self) {
      try a.upgraded(
        SyncSchema(version: 2, tables: [book, SyncTable("nowhere")]), creation,
        "ALTER TABLE book ADD COLUMN year")
    }
    try a.execute("UPDATE book SET title = 'noted again', year = 1")
    let again = try Device(a.database, v1, id: 9)
    #expect(try again.store.counts().operations == 3)
  }

  @Test func `replicas with disjoint tables live in one database`() throws {
    let shelves = SyncSchema(version: 1, tables: [SyncTable("shelf")])
    func device(_ id: UInt64) throws -> (Device, Device) {
      let one = try Device(DatabaseQueue(), v1, id: id, migrator: .steps([creation, shelf]))
      return (one, try Device(one.database, shelves, id: id + 10, name: "second"))
    }
    let (a, b) = (try device(1), try device(2))
    try a.0.execute("INSERT INTO book VALUES ('1', 'D', 2); INSERT INTO shelf VALUES ('s', 'S', 1)")
    try meet(a.0, b.0)
    #expect(try b.0.column("SELECT isbn FROM book") == ["1"])
    #expect(try b.0.column("SELECT id FROM shelf") == [])
    #expect(try a.1.store.counts().unsealedChanges == 1)
    try meet(a.1, b.1)
    #expect(try b.0.column("SELECT id FROM shelf") == ["s"])
    try b.1.execute("UPDATE shelf SET name = 'B'; DELETE FROM book")
    try meet(a.1, b.1)
    try meet(a.0, b.0)
    #expect(try a.0.column("SELECT name FROM shelf") == ["B"])
    #expect(try a.0.column("SELECT isbn FROM book") == [])
    try expectEqual(a.0, b.0, "book")
    try expectEqual(a.1, b.1, "shelf")
    let error = #expect(throws: SchemaError.self) {
      try Device(a.0.database, v1, id: 30, name: "Second")
    }
    #expect(error?.code == .otherReplica && error?.table == "book")
    #expect(
      try Device(a.0.database, shelves, id: 30, name: "SECOND").store.counts().operations == 2)
  }

  @Test func `a renamed table is refused, and a new one of its shape is a way out`() throws {
    let a = try device(1, v1, creation)
    try a.commit("INSERT INTO book VALUES ('1', 'Dune', 10)")
    let rename = "ALTER TABLE book RENAME TO volume"
    let renamed = SyncSchema(version: 2, tables: [SyncTable("volume", merge: ["scans": .counter])])
    let error = #expect(throws: SchemaError.self) { try a.upgraded(renamed, creation, rename) }
    #expect(error?.code == .renamedTable && error?.table == "volume")
    #expect(error?.message.contains(#"formerNames: ["book"]"#) ?? false)
    #expect(try a.column("SELECT scans FROM volume") == ["10"])
    let back = try a.upgraded(v1, creation, rename, "ALTER TABLE volume RENAME TO book")
    #expect(try back.store.counts().operations == 1)
    try back.commit("UPDATE book SET title = 'Emma'")
    #expect(try back.store.counts().operations == 2)
    // The same shape beside it is another table.
    let both = SyncSchema(version: 3, tables: [book, renamed.tables[0]])
    let copy =
      "CREATE TABLE volume (isbn TEXT NOT NULL PRIMARY KEY, title, scans INTEGER NOT NULL DEFAULT 0)"
    _ = try back.upgraded(both, copy)
    let none = SyncSchema(version: 4, tables: [])
    _ = try back.upgraded(none, "DROP TABLE book; DROP TABLE volume")
    #expect(try back.upgraded(renamed, copy + " ").store.counts().operations == 2)
  }

  /// As where a device skips the version of the app that has neither.
  @Test func `a table with the shape of one that is gone is another where it has other rows`()
    throws
  {
    for (rows, isRefused) in [("", false), ("('9', 'other', 1)", false), ("('1', 'x', 1)", true)] {
      let a = try device(1, v1, creation)
      try a.commit("INSERT INTO book VALUES ('1', 'Dune', 10)")
      let steps = [
        "DROP TABLE book", creation.replacing("book", with: "volume"),
        rows.isEmpty ? "SELECT 1" : "INSERT INTO volume VALUES \(rows)",
      ]
      let v3 = SyncSchema(version: 3, tables: [SyncTable("volume", merge: ["scans": .counter])])
      let open = { try a.upgraded(v3, creation, steps[0], steps[1], steps[2]) }
      if isRefused {
        #expect(throws: SchemaError.self) { try open() }
      } else {
        #expect(try open().column("SELECT count(*) FROM volume") == [rows.isEmpty ? "0" : "1"])
      }
    }
  }

  @Test func `a reference from one replica's table to another's is refused either way`() throws {
    let creation = """
      CREATE TABLE author (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE work (id TEXT NOT NULL PRIMARY KEY, author TEXT REFERENCES author);
      """
    for tables in [["author", "work"], ["work", "author"]] {
      let first = try Device(
        DatabaseQueue(), SyncSchema(version: 1, tables: [SyncTable(tables[0])]), id: 1,
        migrator: .steps([creation]))
      let error = #expect(throws: SchemaError.self) {
        try Device(
          first.database, SyncSchema(version: 1, tables: [SyncTable(tables[1])]), id: 2, name: "b")
      }
      #expect(error?.code == .otherReplica && error?.table == "work")
      try first.commit("INSERT INTO \(tables[0]) (id) VALUES ('1')")
      #expect(try first.store.counts().operations == 1)
    }
  }
}
