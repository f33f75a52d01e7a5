import GRDB
import Tern
import TestDevice
import Testing

private func pair(_ sql: String, _ tables: SyncTable...) throws -> (Device, Device) {
  try Device.pair(SyncSchema(version: 1, tables: tables), sql)
}

/// A table, and writes on A; then on A and on B at once. Everything has to be equal after each.
struct Shape: Sendable, CustomTestStringConvertible {
  var name: String
  var table = "t"
  var creation: String
  var first: String
  var onA: String
  var onB: String
  var testDescription: String { name }

  static let all: [Shape] = [
    Shape(
      name: "blob key", creation: "CREATE TABLE t (id BLOB NOT NULL PRIMARY KEY, a)",
      first: "INSERT INTO t VALUES (x'00ff', 1), (x'', 2), (x'00', 3)",
      onA: "UPDATE t SET a = 'A' WHERE id = x''", onB: "DELETE FROM t WHERE id = x'00'"),
    Shape(
      name: "text and integer key, key change",
      creation: "CREATE TABLE t (k TEXT NOT NULL, a, n INTEGER NOT NULL, PRIMARY KEY (n, k))",
      first: "INSERT INTO t VALUES ('x', 1, -9223372036854775808), ('', 2, 0), ('x', 3, 1)",
      onA: "UPDATE t SET n = n + 10 WHERE k = 'x' AND n > 0", onB: "UPDATE t SET a = a + 1"),
    Shape(
      name: "WITHOUT ROWID, integer key",
      creation: "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b REAL) WITHOUT ROWID",
      first: "INSERT INTO t VALUES (1, 'a', 1), (-5, 'b', 2.5), (9223372036854775807, NULL, NULL)",
      onA: "UPDATE t SET a = 'A'; DELETE FROM t WHERE id = -5", onB: "UPDATE t SET b = b * 2"),
    Shape(
      name: "every storage class", creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, v, w)",
      first: """
        INSERT INTO t (id, v) VALUES ('null', NULL), ('empty text', ''), ('empty blob', x''),
          ('nul', CAST(x'610062' AS TEXT)), ('not UTF-8', CAST(x'ff' AS TEXT)),
          ('also', CAST(x'c0af80' AS TEXT)), ('minus zero', -0.0), ('zero', 0.0), ('int', 0),
          ('least', 5e-324), ('greatest', 1.7976931348623157e308), ('sum', 0.1 + 0.2),
          ('inf', 9e999), ('-inf', -9e999), ('max', 9223372036854775807), ('one', 1),
          ('one real', 1.0), ('blob', x'00ff00'), ('text one', '1'), ('long', zeroblob(100000))
        """,
      onA: "UPDATE t SET v = CASE id WHEN 'one' THEN 1.0 WHEN 'one real' THEN 1 "
        + "WHEN 'zero' THEN 0.5 WHEN 'int' THEN -0.0 WHEN 'text one' THEN x'31' "
        + "WHEN 'not UTF-8' THEN CAST(x'fe' AS TEXT) WHEN 'null' THEN x'' ELSE v END",
      onB: "UPDATE t SET w = v; UPDATE t SET v = NULL WHERE id IN ('inf', 'empty blob')"),
    Shape(
      name: "affinities",
      creation:
        "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, i INTEGER, r REAL, n NUMERIC, x TEXT)",
      first: "INSERT INTO t VALUES ('a', 1.0, 1, '1.0', 1), ('b', 'x', '2.5', x'00', 2.5), "
        + "('c', 1e300, -0.0, 9007199254740993, x'00'), ('d', 0.5, 0.0, 1e400, NULL)",
      onA: "UPDATE t SET i = 1.5, r = 7 WHERE id = 'a'; UPDATE t SET r = -0.0 WHERE id = 'd'",
      onB: "UPDATE t SET n = -0.0, x = 3.0"),
    Shape(
      name: "NOCASE",
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT COLLATE NOCASE, b TEXT "
        + "COLLATE RTRIM)",
      first: "INSERT INTO t VALUES ('1', 'dune', 'x')", onA: "UPDATE t SET a = 'Dune'",
      onB: "UPDATE t SET b = 'x  '"),
    Shape(
      name: "generated columns",
      creation: """
        CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a INTEGER,
          twice GENERATED ALWAYS AS (a * 2) VIRTUAL, label TEXT AS ('no. ' || a) STORED, b)
        """,
      first: "INSERT INTO t (id, a, b) VALUES ('1', 5, 'b'), ('2', NULL, 'c')",
      onA: "UPDATE t SET a = a + 1", onB: "UPDATE t SET b = 'B'"),
    Shape(
      name: "hard names", table: "select \"from\" ünï",
      creation: """
        CREATE TABLE "select ""from"" ünï" (
          "primary key" TEXT NOT NULL PRIMARY KEY, "order" INTEGER NOT NULL DEFAULT 0,
          "a b" , "it's", "say ""hi"" now", "日本", "[x]", "k0", "m0", "ms", "rowid", "new", "life")
        """,
      first: """
        INSERT INTO "select ""from"" ünï" ("primary key", "a b", "it's", "日本", k0, rowid)
        VALUES ('1', 2, 3, 4, 5, 6), ('2', 3, 4, 5, 6, 7)
        """,
      onA: #"UPDATE "select ""from"" ünï" SET "it's" = 9, "order" = "order" + 1, ms = 4"#,
      onB: #"UPDATE "select ""from"" ünï" SET "say ""hi"" now" = 9, "[x]" = 0, m0 = 1, life = 2"#),
    Shape(
      name: "130 columns",
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, "
        + (0..<130).map { "c\($0)" }.joined(separator: ", ") + ")",
      first:
        "INSERT INTO t (id, c0, c61, c62, c123, c124, c129) VALUES ('1', 0, 61, 62, 123, 4, 9)",
      onA: "UPDATE t SET c61 = 'A', c124 = 'A', c0 = 'A'",
      onB: "UPDATE t SET c62 = 'B', c123 = 'B', c129 = 'B', c0 = 'B'"),
    Shape(
      name: "key alone",
      creation: "CREATE TABLE t (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b))",
      first: "INSERT INTO t VALUES ('1', 'x'), ('2', 'y'), ('3', 'z')",
      onA: "DELETE FROM t WHERE a = '1'; REPLACE INTO t VALUES ('2', 'y')",
      onB: "UPDATE t SET b = 'w' WHERE a = '3'; INSERT INTO t VALUES ('4', '4')"),
    Shape(
      name: "STRICT",
      creation:
        "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a ANY, b INT, c REAL, d BLOB) STRICT",
      first:
        "INSERT INTO t VALUES ('1', 1, 1, 1, x'01'), ('2', 1.0, 2, 2.5, NULL), ('3', '1', 1, 1, x'')",
      onA: "UPDATE t SET a = 1.0 WHERE id = '1'", onB: "UPDATE t SET b = b + 1, c = -0.0"),
    Shape(
      name: "statement kinds",
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 3)",
      first: "INSERT INTO t VALUES ('1', 'a', 1), ('2', 'b', 2), ('3', 'c', 3)",
      onA: """
        INSERT OR REPLACE INTO t (id, a) VALUES ('1', 'replaced');
        INSERT INTO t VALUES ('2', 'up', 0) ON CONFLICT (id) DO UPDATE SET a = excluded.a;
        INSERT OR IGNORE INTO t VALUES ('3', 'ignored', 9);
        """,
      onB: """
        UPDATE OR FAIL t SET n = n + 5; UPDATE OR REPLACE t SET id = '2' WHERE id = '3';
        UPDATE OR IGNORE t SET id = '1' WHERE id = '2';
        """),
  ]
}

@Suite("Schema: tables of every shape")
struct GuestShapeTests {
  @Test(arguments: Shape.all)
  func `a table of any shape travels bit for bit`(_ shape: Shape) throws {
    let (a, b) = try pair(shape.creation, SyncTable(shape.table))
    try a.execute(shape.first)
    let written = try a.exactly(shape.table)
    try meet(a, b)
    #expect(try b.exactly(shape.table) == written)
    try expectEqual(a, b, shape.table)
    let quoted = "\"" + shape.table.replacing("\"", with: "\"\"") + "\""
    #expect(try a.column("SELECT count(*) FROM \(quoted)") != ["0"])
    try a.execute(shape.onA)
    try b.execute(shape.onB)
    try meet(a, b)
    try meet(a, b)
    try expectEqual(a, b, shape.table)
    #expect(try a.store.seal().isEmpty && b.store.seal().isEmpty)
  }

  @Test func `edits to columns in different mask words all stay`() throws {
    let shape = Shape.all.first { $0.name == "130 columns" }!
    let (a, b) = try pair(shape.creation, SyncTable("t"))
    try a.execute(shape.first)
    try meet(a, b)
    try a.execute("UPDATE t SET c61 = 'A', c124 = 'A'")
    try b.execute("UPDATE t SET c62 = 'B', c123 = 'B', c129 = 'B'")
    try meet(a, b)
    #expect(try a.column("SELECT c61 || c62 || c123 || c124 || c129 FROM t") == ["ABBAB"])
  }

  @Test func `a merged row that a CHECK refuses is quarantined, and comes back when it fits`()
    throws
  {
    let (a, b) = try pair(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, low INTEGER, high INTEGER, CHECK (low <= high))",
      SyncTable("t"))
    try a.execute("INSERT INTO t VALUES ('1', 1, 10)")
    try meet(a, b)
    try a.execute("UPDATE t SET low = 9")
    try b.execute("UPDATE t SET high = 5")
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM t") == [])
      #expect(try device.store.counts().quarantined == 1)
      #expect(try device.store.seal().isEmpty)
    }
    try expectEqual(a, b, "t")
    // The row is written anew here, whole, and shown everywhere.
    try a.execute("INSERT INTO t VALUES ('1', 2, 20)")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.column("SELECT low || ' ' || high FROM t") == ["2 20"])
    #expect(try b.store.counts().quarantined == 0 && a.store.counts().quarantined == 0)
    try expectEqual(a, b, "t")
  }

  @Test func `NOT NULL without a default holds a row that lacks the column, with one it shows`()
    throws
  {
    let v1 = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)"
    let b = try Device(SyncSchema(version: 1, tables: [SyncTable("t")]), id: 2) {
      try $0.execute(sql: v1)
    }
    for (column, isShown) in [("b TEXT NOT NULL", false), ("b TEXT NOT NULL DEFAULT 'd'", true)] {
      let a = try Device(SyncSchema(version: 2, tables: [SyncTable("t")]), id: isShown ? 3 : 1) {
        try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, \(column))")
      }
      try b.execute("INSERT OR IGNORE INTO t VALUES ('1', 'x')")
      try a.pull(from: b)
      #expect(try a.column("SELECT b FROM t") == (isShown ? ["d"] : []))
      #expect(try a.store.counts().quarantined == (isShown ? 0 : 1))
    }
  }

  @Test func `a counter refuses what is no 64-bit whole number, and nothing changes`() throws {
    let (a, _) = try pair(
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \"it's\" INTEGER NOT NULL DEFAULT 0, a)",
      SyncTable("t", merge: ["it's": .counter]))
    try a.execute("INSERT INTO t VALUES ('1', 9223372036854775807, 'a')")
    try a.store.seal()
    for write in [
      "UPDATE t SET \"it's\" = \"it's\" + 1, a = 'b'", "UPDATE t SET \"it's\" = 'many'",
      "UPDATE OR IGNORE t SET \"it's\" = 1.5", "INSERT INTO t VALUES ('2', 0.5, NULL)",
      "INSERT OR REPLACE INTO t VALUES ('1', x'00', NULL)",
    ] {
      let error = #expect(throws: DatabaseError.self) { try a.execute(write) }
      #expect(error?.message == "tern: the counter it's must hold a 64-bit whole number")
    }
    #expect(try a.rows("SELECT a, \"it's\" FROM t").count == 1)
    #expect(try a.column("SELECT a || \"it's\" FROM t") == ["a9223372036854775807"])
    #expect(try a.store.seal().isEmpty)
  }

  @Test func `a counter of rows that were there before has to hold whole numbers`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)"
    let error = #expect(throws: SchemaError.self) {
      try Device(schema, id: 1) { db in
        try db.execute(sql: creation)
        try db.execute(sql: "INSERT INTO t VALUES ('1', 1), ('2', 1.5)")
      }
    }
    #expect(error?.code == .unsupportedRule && error?.table == "t" && error?.column == "n")
  }

  @Test func `a counter in which a migration left something else begins at 0`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["n": .counter])])
    let creation = "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0)"
    let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
    var a = try Device(DatabaseQueue(), schema, id: 1, migrator: .steps([creation]))
    try a.commit("INSERT INTO t VALUES ('1', 'a', 7)")
    a = try a.upgraded(
      schema, creation, "INSERT INTO t VALUES ('2', 'a', 1.5); UPDATE t SET n = 'x' WHERE id = '1'")
    try a.execute("UPDATE t SET a = 'b'")
    #expect(try a.store.seal().count == 1)
    #expect(try a.column("SELECT n FROM t WHERE id = '2'") == ["0"])
    try a.execute("UPDATE t SET n = 3 WHERE id = '2'")
    try meet(a, b)
    #expect(try b.column("SELECT a || n FROM t ORDER BY id") == ["b7", "b3"])
  }
}
