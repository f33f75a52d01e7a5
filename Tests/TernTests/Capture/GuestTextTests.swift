import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name)
  """

private func schema(
  _ version: UInt32 = 1, deletes: DeleteRule = .deleteWins, merge: [String: MergeRule]? = nil
) -> SyncSchema {
  SyncSchema(
    version: version,
    tables: [SyncTable("t", merge: merge ?? ["body": .text], deletes: deletes)])
}

private func pair(deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  try Device.pair(schema(deletes: deletes), creation)
}

@Suite("Capture: texts that plain SQL edits")
struct GuestTextTests {
  @Test func `plain SQL edits a text on two devices at once, and both edits stay`() throws {
    let (a, b) = try pair()
    try a.execute("INSERT INTO t VALUES ('1', 'The quick fox', 'n'), ('2', '', 'n')")
    try meet(a, b)
    try a.execute("UPDATE t SET body = replace(body, 'quick', 'quick brown')")
    try b.execute("UPDATE t SET body = body || ' jumps'")
    try meet(a, b)
    #expect(try a.column("SELECT body FROM t") == ["The quick brown fox jumps", " jumps"])
    try expectEqual(a, b, "t")
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test(arguments: ["NULL", "x'5b5d'"])
  func `what is no text fails the app's own statement, which says why`(_ value: String) throws {
    let (a, _) = try pair()
    try a.execute("INSERT INTO t (id, name) VALUES ('1', 'n')")
    for sql in ["UPDATE t SET body = \(value)", "INSERT INTO t VALUES ('2', \(value), 'n')"] {
      let error = #expect(throws: DatabaseError.self) { try a.execute(sql) }
      #expect(error?.resultCode == .SQLITE_CONSTRAINT)
      if value != "NULL" { #expect(error?.message == "tern: the text body must hold a text") }
    }
    #expect(try a.column("SELECT body FROM t") == [""])
  }

  @Test func `numbers become texts, and bytes that are no UTF-8 are put right and travel`() throws {
    let (a, b) = try pair()
    try a.execute(
      "INSERT INTO t VALUES ('1', 7.5, 'n'), ('2', CAST(x'61ff62' AS TEXT), 'n'), ('3', '', 'n')")
    try a.execute("UPDATE t SET body = CAST(x'6100c3' AS TEXT) WHERE id = '3'")
    try meet(a, b)
    #expect(
      try b.column("SELECT hex(body) FROM t ORDER BY id") == ["372E35", "61EFBFBD62", "6100EFBFBD"])
    try expectEqual(a, b, "t")
    #expect(try a.store.seal().isEmpty)
  }

  @Test func `a column that can be NULL, no text or begin with something is refused`() throws {
    for column in ["body TEXT", "body BLOB NOT NULL", "body TEXT NOT NULL DEFAULT 'x'"] {
      let database = try DatabaseQueue()
      try database.write {
        try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, \(column))")
      }
      let error = #expect(throws: SchemaError.self) { try Device(database, schema(), id: 1) }
      #expect(error?.code == .unsupportedRule)
    }
  }

  @Test func `rows that both had before are adopted as one text, and a row that came again is new`()
    throws
  {
    let devices = try (1...2).map { id in
      try Device(schema(), id: UInt64(id)) { db in
        try db.execute(sql: creation)
        try db.execute(sql: "INSERT INTO t VALUES ('1', 'the same', 'n')")
      }
    }
    let (a, b) = (devices[0], devices[1])
    try b.execute("UPDATE t SET body = body || ' and more'")
    try meet(a, b)
    #expect(try a.column("SELECT body FROM t") == ["the same and more"])
    try a.execute("DELETE FROM t")
    try a.store.seal()
    try a.execute("INSERT INTO t VALUES ('1', 'new', 'n')")
    try b.execute("UPDATE t SET body = 'X' || body")
    try meet(a, b)
    #expect(try b.column("SELECT body FROM t") == ["new"])
    try expectEqual(a, b, "t")
  }

  @Test func `a text column that a migration adds and fills is one text on both`() throws {
    let plain = SyncSchema(version: 1, tables: [SyncTable("t")])
    let old = try (1...2).map { id in
      try Device(plain, id: UInt64(id)) {
        try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name)")
      }
    }
    try old[0].execute("INSERT INTO t VALUES ('1', 'dune')")
    try meet(old[0], old[1])
    let migration = """
      ALTER TABLE t ADD COLUMN body TEXT NOT NULL DEFAULT ''; UPDATE t SET body = 'on ' || name
      """
    let (a, b) = (
      try old[0].upgraded(schema(2), migration), try old[1].upgraded(schema(2), migration)
    )
    try a.execute("UPDATE t SET body = body || '!'")
    try b.execute("UPDATE t SET body = 'Notes ' || body")
    try meet(a, b)
    #expect(try a.column("SELECT body FROM t") == ["Notes on dune!"])
    try expectEqual(a, b, "t")
    // A rebuild brings nothing new.
    let rebuilt = try a.upgraded(
      schema(3),
      """
      CREATE TABLE new (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name);
      INSERT INTO new SELECT id, body, name FROM t; DROP TABLE t; ALTER TABLE new RENAME TO t
      """)
    #expect(try rebuilt.store.seal().isEmpty)
    try rebuilt.execute("UPDATE t SET body = replace(body, 'dune', 'Dune')")
    try meet(rebuilt, b)
    #expect(try b.column("SELECT body FROM t") == ["Notes on Dune!"])
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a deleted text comes back whole with an edit that the delete had not seen`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try pair(deletes: rule)
    try a.execute("INSERT INTO t VALUES ('1', 'one two', 'n')")
    try meet(a, b)
    try a.execute("DELETE FROM t")
    try a.store.seal()
    try b.execute("UPDATE t SET body = body || ' three'")
    try meet(a, b)
    #expect(try a.column("SELECT body FROM t") == ["one two three"])
    try expectEqual(a, b, "t")
  }

  @Test func `a row that is written while it is quarantined keeps both texts`() throws {
    let creation = """
      CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, name);
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL DEFAULT '', name,
        parent TEXT REFERENCES parent);
      """
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("parent"), SyncTable("t", merge: ["body": .text])])
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO parent VALUES ('p', '')")
    try meet(a, b)
    try a.execute("INSERT INTO t VALUES ('1', 'held', 'n', 'p')")
    try b.execute("DELETE FROM parent")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM t") == [])
    try b.execute("INSERT INTO t VALUES ('1', 'blind', 'n', NULL)")
    try b.execute("UPDATE t SET name = 'other'")
    try meet(a, b)
    try meet(a, b)
    let text = try a.column("SELECT body FROM t")
    #expect(text == ["heldblind"] || text == ["blindheld"])
    try expectEqual(a, b, "t", "parent")
  }

  @Test func `an edit waits for what it builds on, and an older peer keeps it for later`() throws {
    let (a, b) = try pair()
    let c = try Device(schema(merge: [:]), id: 3) { try $0.execute(sql: creation) }
    try a.execute("INSERT INTO t VALUES ('1', 'base', 'n')")
    try meet(a, b)
    try a.execute("UPDATE t SET body = body || ' of a'")
    try meet(a, b)
    try b.execute("UPDATE t SET body = body || ' and b'")
    try b.store.seal()
    let (ofA, ofB) = (
      try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max),
      try b.store.operations(
        lackedBy: a.store.versionVector(), maximumBytes: .max)
    )
    let d = try Device(schema(), id: 4) { try $0.execute(sql: creation) }
    try d.merge(ofB)
    try d.merge([ofA[0]])
    #expect(try d.column("SELECT body FROM t") == ["base"])
    try d.merge([ofA[1]])
    #expect(try d.column("SELECT body FROM t") == ["base of a and b"])
    // One that gave the column no rule puts it off.
    try c.merge(ofA + ofB)
    #expect(try c.column("SELECT body || name FROM t") == ["n"])
    #expect(try c.store.counts().pending[.schema] == 3)
  }

  @Test func `a text of a million letters is written, edited and merged`() throws {
    let (a, b) = try pair()
    try a.execute("INSERT INTO t VALUES ('1', hex(zeroblob(500000)), 'n')")
    try meet(a, b)
    try a.execute("UPDATE t SET body = 'first ' || body")
    try b.execute("UPDATE t SET body = body || ' last'")
    try meet(a, b)
    #expect(
      try b.column("SELECT substr(body, 1, 7) || length(body) || substr(body, -5) FROM t")
        == ["first 01000011 last"])
    try expectEqual(a, b, "t")
  }

  @Test func `an explanation tells who wrote what of a text, and what became of it`() async throws {
    let (a, b) = try pair()
    try a.execute("INSERT INTO t VALUES ('1', 'base', 'n')")
    try a.execute("UPDATE t SET body = 'base of a' WHERE id = '1'")
    try meet(a, b)
    try b.execute("UPDATE t SET body = 'base' WHERE id = '1'")
    try a.store.seal()
    try b.execute("UPDATE t SET body = 'base' || ' of b' WHERE id = '1'")
    try meet(a, b)
    let row = try await a.replica.explain("t", key: ["1"])
    let column = try #require(row.columns.first { $0.name == "body" })
    #expect(column.value == "base of b" && column.rule == .text)
    #expect(column.writes.contains { $0.content == .text(inserted: ["base of a"], removed: 0) })
    let history = try await b.replica.history("t", key: ["1"])
    #expect(history.changes.count >= 2)
    #expect("\(row)".contains("inserted"))
  }
}
