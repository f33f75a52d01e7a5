import GRDB
import Tern
import TestDevice
import Testing

private func pair(_ sql: String, _ tables: String...) throws -> (Device, Device) {
  try Device.pair(SyncSchema(version: 1, tables: tables.map { SyncTable($0) }), sql)
}

private let family = """
  CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
  CREATE TABLE child (
    id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent ON DELETE CASCADE, name);
  """

extension Configuration {
  /// Without foreign keys: with them SQLite refuses every write to a child whose parent it does not know.
  static var unchecked: Configuration {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    return configuration
  }
}

@Suite("Settlement: references between rows")
struct GuestReferenceTests {
  @Test(arguments: [["child", "parent"], ["parent", "child"]])
  func `children that come before their parents wait for them`(_ order: [String]) throws {
    let schema = SyncSchema(version: 1, tables: order.map { SyncTable($0) })
    let (a, b) = try Device.pair(schema, family)
    try a.execute(
      "INSERT INTO parent VALUES ('p', 'P'); INSERT INTO child VALUES ('c', 'p', 'C'), ('n', NULL, 'N')"
    )
    try meet(a, b)
    #expect(try b.column("SELECT id FROM child ORDER BY id") == ["c", "n"])
    try expectEqual(a, b, "parent", "child")
  }

  @Test func `a child written while its parent was deleted is quarantined on both sides`() throws {
    let (a, b) = try pair(family, "parent", "child")
    try a.execute(
      "INSERT INTO parent VALUES ('p', 'P'); INSERT INTO child VALUES ('old', 'p', 'O')")
    try meet(a, b)
    try a.execute("DELETE FROM parent")
    #expect(try a.column("SELECT id FROM child") == [])
    try b.execute("INSERT INTO child VALUES ('new', 'p', 'N')")
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM child") == [])
      #expect(try device.store.counts().quarantined == 1)
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
    }
    try expectEqual(a, b, "parent", "child")
    try a.execute("INSERT INTO parent VALUES ('p', 'again')")
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM child") == ["new"])
      #expect(try device.store.counts().quarantined == 0)
    }
    try expectEqual(a, b, "parent", "child")
  }

  @Test func `a row that is too large to travel and then quarantined is not forgotten`() throws {
    let (a, b) = try pair(
      """
      CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
      CREATE TABLE child (
        id TEXT NOT NULL PRIMARY KEY, parent TEXT REFERENCES parent, name, note);
      """, "parent", "child")
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try meet(a, b)
    try a.execute("INSERT INTO child VALUES ('c', 'p', 'C', NULL)")
    try a.store.seal()
    try a.execute("UPDATE child SET name = zeroblob(16000000), note = 'kept'")
    try b.execute("DELETE FROM parent")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM child") == [])
    #expect(try a.store.counts().largeRows == ["child": 1])
    try b.execute("INSERT INTO parent VALUES ('p', 'again')")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM child") == ["c"])
    try a.execute("UPDATE child SET name = 'short'")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.column("SELECT note FROM child") == ["kept"])
    #expect(try a.store.counts().largeRows.isEmpty)
    try expectEqual(a, b, "parent", "child")
  }

  @Test func `rows that refer to themselves, to each other and round in circles arrive`() throws {
    let sql = """
      CREATE TABLE node (
        id TEXT NOT NULL PRIMARY KEY, next TEXT REFERENCES node DEFERRABLE INITIALLY DEFERRED,
        leaf TEXT REFERENCES leaf DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE leaf (
        id TEXT NOT NULL PRIMARY KEY, node TEXT REFERENCES node DEFERRABLE INITIALLY DEFERRED);
      """
    let (a, b) = try pair(sql, "node", "leaf")
    try a.execute(
      """
      INSERT INTO node VALUES ('self', 'self', NULL), ('1', '2', 'x'), ('2', '3', 'x'), ('3', '1', NULL);
      INSERT INTO leaf VALUES ('x', '3');
      """)
    try meet(a, b)
    #expect(try b.column("SELECT id FROM node ORDER BY id") == ["1", "2", "3", "self"])
    try expectEqual(a, b, "node", "leaf")
    try a.execute("UPDATE node SET next = NULL WHERE id = '2'; DELETE FROM node WHERE id = 'self'")
    try b.execute("INSERT INTO leaf VALUES ('y', 'self')")
    try meet(a, b)
    try meet(a, b)
    try expectEqual(a, b, "node", "leaf")
    try a.execute(
      "UPDATE node SET next = NULL, leaf = NULL; DELETE FROM leaf; DELETE FROM node WHERE id = '3'")
    try b.execute("UPDATE node SET next = '3' WHERE id = '2'")
    try meet(a, b)
    try meet(a, b)
    try expectEqual(a, b, "node", "leaf")
    #expect(try b.rows("PRAGMA foreign_key_check").isEmpty)
  }

  @Test func `foreign keys are enforced again after a merge that threw`() throws {
    let (a, b) = try pair(family, "parent", "child")
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try a.store.seal()
    try a.execute("INSERT INTO parent VALUES ('q', 'Q')")
    try a.store.seal()
    let second = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max)[1...]
    #expect(throws: MergeError.self) {
      try b.merge(Array(second), from: "r")
    }
    #expect(throws: DatabaseError.self) {
      try b.execute("INSERT INTO child VALUES ('c', 'none', 1)")
    }
    #expect(try b.store.place(at: "r") == nil)
  }

  @Test func `attached and temporary tables of the same name are no concern of Tern's`() throws {
    let (a, b) = try pair(family, "parent", "child")
    for device in [a, b] {
      try device.database.writeWithoutTransaction { db in
        try db.execute(
          sql: """
            ATTACH ':memory:' AS other;
            CREATE TABLE other.parent (id INTEGER PRIMARY KEY, different);
            INSERT INTO other.parent VALUES (1, 'not synced');
            CREATE TEMP TABLE child (id, parent, name);
            """)
      }
    }
    try a.execute("INSERT INTO parent VALUES ('p', 'P')")
    try a.execute(
      "INSERT INTO main.child VALUES ('c', 'p', 'C'); INSERT INTO child VALUES (1, 2, 3)")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM main.child") == ["c"])
    #expect(try b.column("SELECT id FROM temp.child") == [])
    #expect(try b.column("SELECT id FROM other.parent") == ["1"])
    let again = try Device(
      a.database,
      SyncSchema(
        version: 1, tables: [SyncTable("parent"), SyncTable("child")]), id: 5)
    #expect(try again.store.counts().operations == 1)
    #expect(try again.store.canonicalState() == b.store.canonicalState())
  }

  @Test(arguments: ["gone", "gone (id)", "parent (none)", "parent (id, name)"])
  func `a parent that SQLite knows nothing of quarantines no child, and holds no merge up`(
    _ reference: String
  ) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("parent"), SyncTable("child")])
    let named = reference.contains(",") ? "parent, name" : "parent"
    let devices = try (1...3).map { id in
      try Device(schema, id: UInt64(id), database: DatabaseQueue(configuration: .unchecked)) {
        try $0.execute(
          sql: """
            CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent TEXT, name,
              other TEXT REFERENCES parent, FOREIGN KEY (\(named)) REFERENCES \(reference));
            """)
      }
    }
    let (a, b, c) = (devices[0], devices[1], devices[2])
    try a.execute(
      """
      INSERT INTO child VALUES
        ('1', 'p', 'n', NULL), ('2', NULL, NULL, NULL), ('3', 'p', 'n', 'x')
      """)
    try meet(a, b)
    // The other key counts as ever, also where it was written.
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM child ORDER BY 1") == ["1", "2"])
    }
    try b.execute("UPDATE child SET name = 'm'")
    try meet(a, b)
    #expect(try a.column("SELECT name FROM child ORDER BY id") == ["m", "m"])
    try c.load(Parts(of: b))
    #expect(try c.column("SELECT id FROM child ORDER BY 1") == ["1", "2"])
    #expect(try c.store.canonicalState() == b.store.canonicalState())
    for device in devices { try expectHealthy(device) }
  }
}
