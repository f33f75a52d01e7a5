import GRDB
import Tern
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', name)
  """

private func schema(_ version: UInt32 = 1) -> SyncSchema {
  SyncSchema(version: version, tables: [SyncTable("t", merge: ["tags": .set])])
}

private func pair(_ sql: String = creation) throws -> (Device, Device) {
  (
    try Device(schema(), id: 1) { try $0.execute(sql: sql) },
    try Device(schema(), id: 2) { try $0.execute(sql: sql) }
  )
}

@Suite struct GuestSetTests {
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

  @Test func `a row that is written while held aside keeps what both added`() throws {
    let sql = """
      CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', name,
        parent TEXT REFERENCES parent);
      """
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("parent"), SyncTable("t", merge: ["tags": .set])])
    let a = try Device(schema, id: 1) { try $0.execute(sql: sql) }
    let b = try Device(schema, id: 2) { try $0.execute(sql: sql) }
    try a.execute(
      #"INSERT INTO parent (id) VALUES ('p'); INSERT INTO t VALUES ('1', '["a"]', 'n', 'p')"#)
    try meet(a, b)
    try b.execute("DELETE FROM t; DELETE FROM parent")
    try b.execute("INSERT INTO parent (id) VALUES ('q')")
    try b.execute(#"INSERT INTO t VALUES ('1', '["b"]', 'n', 'q')"#)
    try b.execute("DELETE FROM parent WHERE id = 'none'")
    try meet(a, b)
    try b.execute("UPDATE t SET parent = NULL; DELETE FROM parent")
    try a.execute("UPDATE t SET name = 'a'")
    try meet(a, b)
    try a.execute(#"INSERT OR REPLACE INTO t VALUES ('1', '["c"]', 'n', NULL)"#)
    try meet(a, b)
    #expect(try b.column("SELECT tags FROM t") == [#"["c"]"#])
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
}
