import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0, mine DEFAULT 'm');
  CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY,
    t TEXT REFERENCES t ON DELETE CASCADE, note DEFAULT '');
  """

private func schema(_ rule: DeleteRule, version: UInt32 = 1) -> SyncSchema {
  SyncSchema(
    version: version,
    tables: [
      SyncTable("t", merge: ["n": .counter], deletes: rule, local: ["mine"]),
      SyncTable("child", deletes: rule),
    ])
}

private func pair(_ rule: DeleteRule) throws -> (Device, Device) {
  let (a, b) = try Device.pair(schema(rule), creation)
  try a.execute("INSERT INTO t (id, a, n) VALUES ('1', 'A', 5), ('2', 'Z', 0)")
  try a.execute("INSERT INTO child VALUES ('c', '1', 'x')")
  try meet(a, b)
  return (a, b)
}

@Suite("Merge: deletes and concurrent edits")
struct GuestDeleteTests {
  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a row that comes back has all its columns, the local ones where it was deleted too`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try pair(rule)
    try a.execute("UPDATE t SET mine = 'own' WHERE id = '1'")
    try a.execute("DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    try b.execute("UPDATE t SET a = 'B', n = n + 2 WHERE id = '1'")
    try meet(a, b)
    #expect(try a.column("SELECT a || n || mine FROM t WHERE id = '1'") == ["B7own"])
    #expect(try b.column("SELECT a || n || mine FROM t WHERE id = '1'") == ["B7m"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `a cascade is undone only for rows that somebody changed`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM t WHERE id = '1'")
    #expect(try a.column("SELECT id FROM child") == [])
    try b.execute("UPDATE t SET a = 'B' WHERE id = '1'")
    try meet(a, b)
    #expect(try a.column("SELECT a FROM t WHERE id = '1'") == ["B"])
    #expect(try a.column("SELECT id FROM child") == [])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test(arguments: [
    "DELETE FROM t WHERE id = '1'; INSERT INTO t (id, a) VALUES ('1', 'new')",
    "INSERT OR REPLACE INTO t (id, a, n) VALUES ('1', 'new', 0)",
    "UPDATE t SET a = 'new', n = 0 WHERE id = '1'; DELETE FROM t WHERE id = '1'; "
      + "INSERT INTO t (id, a) VALUES ('1', 'new')",
  ])
  func `deleting and inserting at once keeps the row`(_ sql: String) throws {
    for rule in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let (a, b) = try pair(rule)
      try a.execute("DELETE FROM child")
      try a.execute(sql)
      try meet(a, b)
      for device in [a, b] {
        #expect(try device.column("SELECT a || n FROM t WHERE id = '1'") == ["new0"])
      }
      #expect(try a.store.canonicalState() == b.store.canonicalState())
    }
  }

  @Test(arguments: [
    ["DELETE FROM u; INSERT INTO u (id, a, best) VALUES ('1', 'new', 1)"],
    ["REPLACE INTO u (id, a, best) VALUES ('1', 'new', 1)"],
    ["DELETE FROM u", "INSERT INTO u (id, a, best) VALUES ('1', 'new', 1)"],
  ])
  func `only a delete that is sealed before the insert ends the row's life`(_ steps: [String])
    throws
  {
    for rule in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let (a, b) = try Device.pair(
        SyncSchema(
          version: 1,
          tables: [SyncTable("u", merge: ["n": .counter, "best": .max], deletes: rule)]),
        """
        CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY, a, note, n INTEGER NOT NULL DEFAULT 0, best);
        """)
      try a.commit("INSERT INTO u VALUES ('1', 'A', NULL, 5, 9)")
      try meet(a, b)
      for step in steps { try a.commit(step) }
      try b.commit("UPDATE u SET note = 'from b', n = n + 10")
      try meet(a, b)
      try meet(a, b)
      let isNewLife = steps.count == 2
      for device in [a, b] {
        #expect(
          try device.column("SELECT a || ifnull(note, '') || ' ' || n || ' ' || best FROM u")
            == [isNewLife ? "new 0 1" : "newfrom b 10 9"], "\(rule)")
      }
      try expectEqual(a, b, "u")
    }
  }

  @Test func `what was written just before a delete comes back with the row`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("UPDATE t SET a = 'last', n = n + 1 WHERE id = '1'; DELETE FROM t WHERE id = '1'")
    try b.execute("UPDATE t SET n = n + 10 WHERE id = '1'")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT a || n FROM t WHERE id = '1'") == ["last16"])
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `a key that changed is a delete, and its old row can come back`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child")
    try a.execute("UPDATE t SET id = '9' WHERE id = '1'")
    try b.execute("UPDATE t SET a = 'B' WHERE id = '1'")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id || a FROM t ORDER BY id") == ["1B", "2Z", "9A"])
    }
  }

  @Test func `a migration that rebuilds the table and adds a column keeps what was deleted`() throws
  {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    let upgraded = try a.upgraded(
      schema(.updateWins, version: 2), "ALTER TABLE t ADD COLUMN more DEFAULT 'd'",
      "CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, "
        + "mine DEFAULT 'm', a, more DEFAULT 'd')",
      "INSERT INTO u (id, n, mine, a, more) SELECT id, n, mine, a, more FROM t", "DROP TABLE t",
      "ALTER TABLE u RENAME TO t")
    try upgraded.execute("DELETE FROM t WHERE id = '2'")
    try b.execute("UPDATE t SET a = 'B' WHERE a IN ('A', 'Z')")
    try meet(upgraded, b)
    #expect(
      try upgraded.column("SELECT id || a || n || mine || more FROM t ORDER BY id")
        == ["1B5md", "2B0md"])
  }

  @Test func `the app's own triggers and observers see a row come back`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute(
      """
      CREATE TABLE log (what);
      CREATE TRIGGER came AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('came ' || NEW.id); END;
      CREATE TRIGGER went AFTER DELETE ON t BEGIN INSERT INTO log VALUES ('went ' || OLD.id); END;
      """)
    try a.execute("DELETE FROM t WHERE id = '1'")
    try b.execute("UPDATE t SET a = 'B' WHERE id = '1'")
    #expect(try a.pull(from: b).changedTables == ["t"])
    #expect(try a.column("SELECT what FROM log") == ["went 1", "came 1"])
  }

  @Test func `another rule for deletes than before is refused by name`() throws {
    let (a, _) = try pair(.updateWins)
    let error = #expect(throws: SchemaError.self) {
      try Device(a.database, schema(.lastWriter), id: 1)
    }
    #expect(error?.code == .changedRule && error?.table == "t")
  }

  @Test func `deleted rows are counted as such, and nothing is quarantined`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; DELETE FROM t")
    try meet(a, b)
    #expect(try a.store.counts().quarantined == 0 && b.store.counts().quarantined == 0)
    #expect(try b.column("SELECT id FROM t") == [])
  }

  @Test(arguments: [
    "UPDATE t SET a = a; UPDATE t SET a = 'last' WHERE id = '1'; DELETE FROM t WHERE id = '1'",
    "UPDATE t SET mine = 'x'; UPDATE t SET a = 'last' WHERE id = '1'; DELETE FROM t WHERE id = '1'",
  ])
  func `an update that changes nothing is no delete`(_ sql: String) throws {
    let (a, b) = try pair(.updateWins)
    try a.execute(sql)
    try b.execute("UPDATE t SET n = n + 1 WHERE id = '1'")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT a || n FROM t WHERE id = '1'") == ["last6"])
    }
  }

  @Test func `of a key that goes twice before a seal, what the others know is kept`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; UPDATE t SET a = 'first' WHERE id = '1'")
    try a.execute(
      """
      DELETE FROM t WHERE id = '1'; INSERT INTO t (id, a) VALUES ('1', 'temp');
      UPDATE t SET a = 'more' WHERE id = '1'; DELETE FROM t WHERE id = '1'
      """)
    try b.execute("UPDATE t SET n = n + 1 WHERE id = '1'")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT a || n FROM t WHERE id = '1'") == ["first6"])
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `what is kept follows columns that are renamed or dropped`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    let tables = [
      SyncTable(
        "t", merge: ["n": .counter], deletes: .updateWins, local: ["mine"],
        formerColumnNames: ["b": "a"]),
      SyncTable("child", deletes: .updateWins),
    ]
    let upgraded = try a.upgraded(
      SyncSchema(version: 2, tables: tables), "ALTER TABLE t RENAME COLUMN a TO b")
    try b.execute("UPDATE t SET n = n + 1 WHERE id = '1'")
    try upgraded.pull(from: b)
    #expect(try upgraded.column("SELECT b || n FROM t WHERE id = '1'") == ["A6"])
  }

  @Test func `a row that comes back leaves alone what is too large to travel`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    try a.execute("INSERT INTO t (id, a) VALUES ('1', zeroblob(16000000))")
    try b.execute("UPDATE t SET n = n + 1 WHERE id = '1'")
    try meet(a, b)
    #expect(try a.column("SELECT length(a) || ' ' || n FROM t WHERE id = '1'") == ["16000000 6"])
    try a.execute("UPDATE t SET a = 'short' WHERE id = '1'")
    try meet(a, b)
    try meet(a, b)
    #expect(try a.column("SELECT a FROM t WHERE id = '1'") == ["short"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `a large row that was deleted again comes back as the others have it`() throws {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    try a.execute("INSERT INTO t (id, a) VALUES ('1', zeroblob(16000000))")
    try a.store.seal()
    try a.execute("DELETE FROM t WHERE id = '1'")
    try a.store.seal()
    try b.execute("UPDATE t SET a = 'B' WHERE id = '1'")
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT a || n FROM t WHERE id = '1'") == ["B5"])
    }
  }

  @Test func `a column that the app adds by itself loses nothing of what was deleted before`()
    throws
  {
    let (a, b) = try pair(.updateWins)
    try a.execute("DELETE FROM child; DELETE FROM t WHERE id = '1'")
    try a.execute("ALTER TABLE t ADD COLUMN more DEFAULT 'd'")
    let again = try Device(a.database, schema(.updateWins, version: 2), id: 99)
    try b.execute("UPDATE t SET n = n + 1 WHERE id = '1'")
    try meet(again, b)
    #expect(try again.column("SELECT a || n FROM t WHERE id = '1'") == ["A6"])
  }

  @Test(arguments: ["a", "b"])
  func `what is kept follows a column whose name changed its case, now or before`(_ name: String)
    throws
  {
    var (a, b) = try pair(.updateWins)
    let capital = "ALTER TABLE t RENAME COLUMN a TO A"
    a = try a.upgraded(schema(.updateWins, version: 2), capital)
    try a.execute("DELETE FROM child; DELETE FROM t")
    try a.store.seal()
    let tables = [
      SyncTable(
        "t", merge: ["n": .counter], deletes: .updateWins, local: ["mine"],
        formerColumnNames: name == "a" ? [:] : [name: "a"]),
      SyncTable("child", deletes: .updateWins),
    ]
    a = try a.upgraded(
      SyncSchema(version: 3, tables: tables), capital, "ALTER TABLE t RENAME COLUMN A TO \(name)")
    try b.execute("UPDATE t SET a = 'new' WHERE id = '1'; UPDATE t SET n = 7 WHERE id = '2'")
    try a.pull(from: b)
    #expect(try a.column("SELECT \(name) || n FROM t ORDER BY id") == ["new5", "Z7"])
    let made = try a.rareTables()
    #expect(made.contains("kept"))
    #expect(try a.rows("SELECT 1 FROM grdb_tern_main_kept WHERE tbl = 1").isEmpty)
  }

  @Test func `what is quarantined follows a column whose name changes its case`() throws {
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, Title, n"
    let tables = [SyncTable("t")]
    var a = try Device(SyncSchema(version: 1, tables: tables), id: 1) {
      try $0.execute(sql: "\(creation) CHECK (n < 5))")
    }
    let b = try Device(SyncSchema(version: 1, tables: tables), id: 2) {
      try $0.execute(sql: "\(creation))")
    }
    try b.execute("INSERT INTO t VALUES ('1', 'first', 9)")
    try a.pull(from: b)
    #expect(try a.store.counts().quarantined == 1)
    a = try a.upgraded(
      SyncSchema(version: 2, tables: tables), "ALTER TABLE t RENAME COLUMN Title TO title")
    try b.commit("UPDATE t SET Title = 'second'")
    try b.commit("UPDATE t SET n = 1")
    try a.pull(from: b)
    #expect(try a.column("SELECT title || n FROM t") == ["second1"])
    try expectHealthy(a)
  }
}
