import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', name)
  """

private func schema(_ version: UInt32 = 1) -> SyncSchema {
  SyncSchema(version: version, tables: [SyncTable("t", merge: ["tags": .set])])
}

private func pair(_ sql: String = creation) throws -> (Device, Device) {
  try Device.pair(schema(), sql)
}

@Suite("Capture: sets that plain SQL writes")
struct GuestSetTests {
  @Test func `plain SQL adds to a set and takes from it on two devices at once`() throws {
    let (a, b) = try pair()
    try a.execute(#"INSERT INTO t VALUES ('1', '["x","y"]', 'n'), ('2', '[]', 'n')"#)
    try meet(a, b)
    try a.execute(
      """
      UPDATE t SET tags = json_insert(tags, '$[#]', 'a');
      UPDATE t SET tags = (SELECT json_group_array(value) FROM json_each(tags) WHERE value <> 'x')
      """)
    try b.execute("UPDATE t SET tags = json_insert(tags, '$[#]', 'b')")
    try meet(a, b)
    #expect(try a.column("SELECT tags FROM t") == [#"["a","b","y"]"#, #"["a","b"]"#])
    try expectEqual(a, b, "t")
  }

  @Test func `a set is shown in one form, and repeating a form makes no operation`() throws {
    let (a, b) = try pair()
    try a.execute(#"INSERT INTO t VALUES ('1', ' [ "b", "a", "a" ] ', 'n')"#)
    #expect(try a.store.seal().count == 1)
    #expect(try a.column("SELECT tags FROM t") == [#"["a","b"]"#])
    #expect(try a.store.seal().isEmpty)
    try a.execute(#"UPDATE t SET tags = '["b","a"]'"#)
    #expect(try a.store.seal().isEmpty)
    #expect(try a.column("SELECT tags FROM t") == [#"["a","b"]"#])
    try meet(a, b)
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [
    "'x'", "NULL", "1", "x'5b5d'", "'{}'", "'[null]'", "'[true]'", "'[[]]'", "'[{}]'", "'[1e999]'",
    "'[1,]'", "'\"a\"'",
    "'[\"a\\u0000b\"]'", "'[1\(String(repeating: "0", count: 400))]'",
  ])
  func `what is no set fails the app's own statement, which says why`(_ value: String) throws {
    let (a, _) = try pair()
    try a.execute("INSERT INTO t (id, name) VALUES ('1', 'n')")
    for sql in ["UPDATE t SET tags = \(value)", "INSERT INTO t VALUES ('2', \(value), 'n')"] {
      let error = #expect(throws: DatabaseError.self) { try a.execute(sql) }
      #expect(error?.resultCode == .SQLITE_CONSTRAINT)
    }
    #expect(try a.column("SELECT tags FROM t") == ["[]"])
  }

  @Test func `the refusal names the column and what it holds`() throws {
    let (a, _) = try pair()
    let error = #expect(throws: DatabaseError.self) {
      try a.execute("INSERT INTO t VALUES ('1', 'x', 'n')")
    }
    #expect(error?.message == "tern: the set tags must hold a JSON array of texts and numbers")
  }

  @Test func `bytes that are no UTF-8 and lone surrogates are put right, and travel`() throws {
    let (a, b) = try pair()
    try a.execute(
      #"INSERT INTO t VALUES ('1', CAST(x'5b22ff225d' AS TEXT), 'n'), ('2', '["\ud800"]', 'n')"#)
    try meet(a, b)
    try expectEqual(a, b, "t")
    #expect(try a.column("SELECT tags FROM t WHERE id = '1'") == ["[\"\u{FFFD}\"]"])
  }

  @Test(arguments: [
    #"INSERT INTO t VALUES ('1', '["z"]', 'n', 0, NULL)"#,
    #"""
    INSERT INTO t VALUES ('1', '["z"]', 'n', 0, NULL);
    UPDATE t SET tags = json_insert(tags, '$[#]', 'y'), n = n + 2;
    UPDATE t SET name = 'other'
    """#,
  ])
  func `a row that is written while it is quarantined keeps what both added`(_ sql: String) throws {
    let creation = """
      CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', name,
        n INTEGER NOT NULL DEFAULT 0, parent TEXT REFERENCES parent);
      """
    let schema = SyncSchema(
      version: 1,
      tables: [SyncTable("parent"), SyncTable("t", merge: ["tags": .set, "n": .counter])])
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO parent VALUES ('p', '')")
    try meet(a, b)
    try a.execute(#"INSERT INTO t VALUES ('1', '["h"]', 'n', 5, 'p')"#)
    try b.execute("DELETE FROM parent")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM t") == [])
    try b.execute(sql)
    try meet(a, b)
    try meet(a, b)
    let (tags, sum) = sql.contains("y") ? (#"["h","y","z"]"#, "7") : (#"["h","z"]"#, "5")
    for device in [a, b] { #expect(try device.column("SELECT tags || n FROM t") == [tags + sum]) }
    try expectEqual(a, b, "t", "parent")
  }

  @Test func `rows that were there before are adopted, or refused by column when they can't`()
    throws
  {
    let database = try DatabaseQueue()
    try database.write { db in
      try db.execute(sql: creation)
      try db.execute(sql: #"INSERT INTO t VALUES ('1', '["b","a"]', 'n'), ('2', 'none', 'n')"#)
    }
    let error = #expect(throws: SchemaError.self) { try Device(database, schema(), id: 1) }
    #expect(error?.code == .unsupportedRule && error?.column == "tags")
    try database.write { try $0.execute(sql: "UPDATE t SET tags = '[]' WHERE id = '2'") }
    let a = try Device(database, schema(), id: 1)
    let b = try Device(schema(), id: 2) { try $0.execute(sql: creation) }
    try meet(a, b)
    #expect(try b.column("SELECT tags FROM t ORDER BY id") == [#"["a","b"]"#, "[]"])
    try expectEqual(a, b, "t")
  }

  @Test func `a column that can hold something else is refused`() throws {
    for column in ["tags TEXT", "tags BLOB NOT NULL", "tags TEXT NOT NULL DEFAULT 'x'"] {
      let database = try DatabaseQueue()
      try database.write {
        try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \(column))")
      }
      let error = #expect(throws: SchemaError.self) { try Device(database, schema(), id: 1) }
      #expect(error?.code == .unsupportedRule)
    }
  }

  @Test func `a value that a migration broke stays as it is, and costs no other write`() throws {
    let (a, b) = try pair()
    try a.execute(#"INSERT INTO t VALUES ('1', '["a"]', 'n')"#)
    try meet(a, b)
    let broken = try a.upgraded(schema(2), "UPDATE t SET tags = 'broken'")
    try broken.execute("UPDATE t SET name = 'new'")
    try meet(broken, b)
    #expect(try broken.column("SELECT tags FROM t") == ["broken"])
    #expect(try b.column("SELECT tags || name FROM t") == [#"["a"]new"#])
    try b.execute(#"UPDATE t SET tags = '["b"]'"#)
    try meet(broken, b)
    #expect(try broken.column("SELECT tags FROM t") == [#"["b"]"#])
  }

  @Test func `a set that a REPLACE leaves as it was is stamped by nobody`() throws {
    let plain = SyncSchema(version: 1, tables: [SyncTable("t")])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name)"
    let old = try (1...2).map { try Device(plain, id: $0) { try $0.execute(sql: creation) } }
    try old[0].execute("INSERT INTO t VALUES ('1', 'n')")
    try meet(old[0], old[1])
    let (a, b) = (
      try old[0].upgraded(schema(2), "ALTER TABLE t ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'"),
      try old[1].upgraded(schema(2), "ALTER TABLE t ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'")
    )
    try a.execute("INSERT OR REPLACE INTO t (id, name) VALUES ('1', 'new')")
    try meet(a, b)
    #expect(try b.column("SELECT name || tags FROM t") == ["new[]"])
    #expect(try #require(try b.store.canonicalState().first).cells["tags"] == nil)
    try expectEqual(a, b, "t")
  }

  @Test func `a trigger that wants another form than Tern's does not run for ever`() throws {
    let (a, b) = try pair()
    try a.execute(
      #"""
      CREATE TRIGGER again AFTER UPDATE OF tags ON t WHEN NEW.tags = '["a","b"]' BEGIN
        UPDATE t SET tags = '["b","a"]' WHERE id = NEW.id; END
      """#)
    try a.execute(#"INSERT INTO t VALUES ('1', '["b", "a"]', 'n')"#)
    try meet(a, b)
    #expect(try b.column("SELECT tags FROM t") == [#"["a","b"]"#])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `columns with the names of JSON's own are checked before they are adopted`() throws {
    for name in ["value", "type", "key", "atom", "id2", "path", "root", "json", "parent"] {
      let database = try DatabaseQueue()
      try database.write { db in
        try db.execute(
          sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \(name) TEXT NOT NULL)")
        try db.execute(sql: "INSERT INTO t VALUES ('1', '[null]')")
      }
      let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: [name: .set])])
      let error = #expect(throws: SchemaError.self) { try Device(database, schema, id: 1) }
      #expect(error?.code == .unsupportedRule && error?.column == name)
    }
  }

  @Test func `an element that comes late, from a group put aside, is not lost`() throws {
    var late = ElementSet()
    var inTurn = ElementSet()
    let (author, other) = (ReplicaID(high: 0, low: 1), ReplicaID(high: 0, low: 2))
    let changes: [(UInt64, SetChange)] = [
      (3, SetChange(added: ["x", "z"])), (4, SetChange(added: ["y"])),
    ]
    let removal = SetChange(
      added: [], removed: [ElementSet.Entry("z", VersionVector([author: 3]))])
    for (sequence, change) in changes { _ = inTurn.apply(change, by: author, Turn(sequence)) }
    _ = inTurn.apply(removal, by: other, Turn(1))
    // Operation 3 waits when 4 and the removal come.
    _ = late.apply(changes[1].1, by: author, Turn(sequence: 4, settled: 2))
    _ = late.apply(removal, by: other, Turn(1))
    _ = late.apply(changes[0].1, by: author, Turn(sequence: 3, settled: 0))
    #expect(late.elements == ["x", "y"])
    #expect(late.elements == inTurn.elements)
  }
}
