import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// SQLite holds 1 and 1.0 for one key, and a column without a type holds whichever was written.
@Suite("Merge: keys that are equal in two forms")
struct LookalikeKeyTests {
  private static let creations = [
    "CREATE TABLE t (id NOT NULL PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE t (id BLOB NOT NULL PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID",
    "CREATE TABLE t (id ANY NOT NULL PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0) STRICT",
    """
    CREATE TABLE t (
      name TEXT, n INTEGER NOT NULL DEFAULT 0, part TEXT NOT NULL DEFAULT 'p', id NOT NULL, PRIMARY KEY (part, id))
    """,
  ]
  private static let deletes: [DeleteRule] = [.deleteWins, .updateWins, .lastWriter]

  private static let rows = "SELECT typeof(id), id, name, n FROM t ORDER BY id"

  /// Two real files.
  private func withPair(
    _ creation: String, _ tables: [SyncTable], _ body: (Device, Device) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      let devices = try (1...2).map { number in
        try Device(
          SyncSchema(version: 1, tables: tables), id: UInt64(number),
          database: DatabasePool(path: "\(folder)/\(number).sqlite")
        ) { try $0.execute(sql: creation) }
      }
      try body(devices[0], devices[1])
      for device in devices { try (device.database as? DatabasePool)?.close() }
    }
  }

  private func table(_ deletes: DeleteRule = .deleteWins) -> SyncTable {
    SyncTable("t", merge: ["n": .counter], deletes: deletes)
  }

  private func expectSame(_ a: Device, _ b: Device, _ expected: [[DatabaseValue]]) throws {
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.rows(Self.rows) == expected)
      #expect(try device.store.counts().quarantined == 0)
      #expect(try device.store.counts().unsealedChanges == 0)
      #expect(try device.database.read { try DatabaseDiagnosis($0) }.findings.isEmpty)
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
    let operations = try a.store.counts().operations
    try meet(a, b)
    #expect(try a.store.counts().operations == operations)
  }

  private func row(_ id: Int64, _ name: String, _ n: Int64) -> [DatabaseValue] {
    ["integer".databaseValue, id.databaseValue, name.databaseValue, n.databaseValue]
  }

  @Test(arguments: creations, deletes)
  func `1 and 1.0 become one row, which shows 1 everywhere, through updates, a delete and undo`(
    _ creation: String, _ rule: DeleteRule
  ) throws {
    for isRealFirst in [false, true] {
      try withPair(creation, [table(rule)]) { a, b in
        let (first, second) = isRealFirst ? (b, a) : (a, b)
        func insert(_ device: Device, _ id: String, _ name: String) throws {
          try device.commit("INSERT INTO t (id, name, n) VALUES (\(id), '\(name)', 0)")
        }
        try insert(first, isRealFirst ? "1.0" : "1", "first")
        try delay(second, after: first)
        try insert(second, isRealFirst ? "1" : "1.0", "second")
        // What is no whole number stays as it is.
        try insert(b, "1.5", "half")
        #expect(
          try b.rows("SELECT typeof(id) FROM t ORDER BY id").map { $0[0] } == [
            "integer".databaseValue, "real".databaseValue,
          ])
        try a.commit("INSERT INTO t (id, name) VALUES (9007199254740993, 'large'), ('1', 'text')")
        try meet(a, b)
        try b.commit("DELETE FROM t WHERE typeof(id) = 'text' OR id > 2 OR id = 1.5")
        try expectSame(a, b, [row(1, "second", 0)])

        try b.commit("UPDATE t SET n = n + 2 WHERE id = 1.0")
        try a.commit("UPDATE t SET n = n + 3, name = 'third' WHERE id = 1")
        try expectSame(a, b, [row(1, "third", 5)])

        // The same row again under the other form, in one burst with a delete.
        try delay(b, after: a)
        try b.commit("DELETE FROM t WHERE id = 1; INSERT INTO t (id, name) VALUES (1.0, 'again')")
        try expectSame(a, b, [row(1, "again", 0)])
        try delay(b, after: a)
        try b.commit("INSERT OR REPLACE INTO t (id, name) VALUES (1.0, 'replaced')")
        try meet(a, b)
        #expect(
          try a.rows("SELECT typeof(id), name FROM t") == b.rows("SELECT typeof(id), name FROM t"))
        #expect(try b.rows("SELECT typeof(id) FROM t") == [["integer".databaseValue]])

        try delay(b, after: a)
        try b.commit("DELETE FROM t WHERE id = 1.0")
        try expectSame(a, b, [])
        #expect(try b.store.undo() != nil)
        try meet(a, b)
        try meet(a, b)
        #expect(try a.rows(Self.rows) == b.rows(Self.rows))
        #expect(
          try a.rows("SELECT typeof(id), id, name FROM t") == [
            ["integer".databaseValue, 1.databaseValue, "replaced".databaseValue]
          ])
      }
    }
  }

  @Test func `an undone insert of 1.0 takes the row away`() throws {
    try withPair(Self.creations[0], [table()]) { a, b in
      try b.commit("INSERT INTO t (id, name) VALUES (1.0, 'one')")
      try expectSame(a, b, [row(1, "one", 0)])
      #expect(try b.store.undo() != nil)
      try expectSame(a, b, [])
    }
  }

  @Test(arguments: ["", " ON UPDATE CASCADE ON DELETE CASCADE", " ON UPDATE RESTRICT"])
  func `children that refer to the key by either form keep their parent`(_ actions: String) throws {
    let creation = """
      CREATE TABLE t (id NOT NULL PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent REFERENCES t (id)\(actions));
      CREATE INDEX child_parent ON child (parent);
      """
    try withPair(creation, [table(), SyncTable("child")]) { a, b in
      try a.commit("INSERT INTO t (id, name) VALUES (1, 'a')")
      try a.commit("INSERT INTO child VALUES ('whole', 1), ('mixed', 1.0)")
      try delay(b, after: a)
      // In one transaction, as an app writes a parent with its children.
      try b.commit(
        "INSERT INTO t (id, name) VALUES (1.0, 'b'); INSERT INTO child VALUES ('real', 1.0)")
      try expectSame(a, b, [row(1, "b", 0)])
      for device in [a, b] {
        #expect(try device.rows("SELECT child.id FROM child JOIN t ON parent = t.id").count == 3)
        #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
      }
      #expect(
        try a.rows("SELECT * FROM child ORDER BY id") == b.rows("SELECT * FROM child ORDER BY id"))
      // A row goes with what refers to it.
      try a.commit("DELETE FROM child; DELETE FROM t WHERE id = 1.0")
      try expectSame(a, b, [])
      #expect(try b.rows("SELECT * FROM child").isEmpty)
    }
  }

  @Test func `a row that stood there as 1.0 before its table synced shows 1 everywhere`()
    throws
  {
    try withTemporaryFolder { folder in
      let migrator = DatabaseMigrator.steps([
        "CREATE TABLE t (id NOT NULL PRIMARY KEY, name TEXT, n INTEGER NOT NULL DEFAULT 0)",
        "INSERT INTO t (id, name) VALUES (1.0, 'one'), (2.0, 'two')",
      ])
      let devices = try (1...2).map { number in
        try Device(
          DatabasePool(path: "\(folder)/\(number).sqlite"),
          SyncSchema(version: 1, tables: [table()]), id: UInt64(number), migrator: migrator)
      }
      let (a, b) = (devices[0], devices[1])
      // Each has sealed what stood there.
      try delay(a, after: b)
      try a.commit("UPDATE t SET name = 'uno' WHERE id = 1")
      try a.commit("UPDATE t SET n = n + 1 WHERE id = 2")
      try expectSame(a, b, [row(1, "uno", 0), row(2, "two", 1)])
      for device in devices { try (device.database as? DatabasePool)?.close() }
    }
  }

  @Test func `a table that wants the real keeps it, and what is merged goes on`() throws {
    let creation = """
      CREATE TABLE t (
        id NOT NULL PRIMARY KEY CHECK (typeof(id) = 'real' OR id > 100), name TEXT, n INTEGER NOT NULL DEFAULT 0)
      """
    try withPair(creation, [table()]) { a, b in
      try b.commit("INSERT INTO t (id, name) VALUES (1.0, 'one'), (101.0, 'more')")
      #expect(
        try b.rows("SELECT typeof(id), name FROM t ORDER BY id") == [
          ["real".databaseValue, "one".databaseValue],
          ["integer".databaseValue, "more".databaseValue],
        ])
      try meet(a, b)
      #expect(try b.store.counts().quarantined == 0)
      #expect(try a.store.counts().quarantined == 1)
      try b.commit("UPDATE t SET name = 'two' WHERE id = 1")
      #expect(try b.rows("SELECT name FROM t WHERE id = 1") == [["two".databaseValue]])
    }
  }

  @Test func `the app's triggers on the key stay as they were`() throws {
    let creation = """
      \(Self.creations[0]);
      CREATE TABLE log (what TEXT);
      CREATE TRIGGER fixed BEFORE UPDATE OF id ON t BEGIN SELECT RAISE(ABORT, 'the key is fixed'); END;
      """
    try withPair(creation, [table()]) { a, b in
      try b.commit("INSERT INTO t (id, name) VALUES (1.0, 'one')")
      try expectSame(a, b, [row(1, "one", 0)])
      #expect(throws: DatabaseError.self) { try b.execute("UPDATE t SET id = 2 WHERE id = 1") }
      try b.commit("UPDATE t SET name = 'two' WHERE id = 1")
      try expectSame(a, b, [row(1, "two", 0)])
    }
  }
}
