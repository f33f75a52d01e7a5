import GRDB
import Rehearsals
import Tern
import TernTesting
import TestDevice
import TestProcesses
import Testing

@Suite("Notes: what a REPLACE removes through a UNIQUE index that computes something")
struct ReplaceTriggerTests {
  private static let notes =
    "SELECT k0 FROM grdb_tern_main_note_1 WHERE ifnull(m0, 'maybe') = 'maybe'"

  @Test(arguments: Rehearsal.seeds(1...200, short: 40), [DeleteRule.deleteWins, .updateWins])
  func `INV-02: what goes is noted, nothing else is, and it goes for everybody`(
    _ seed: UInt64, _ deletes: DeleteRule
  ) throws {
    #expect(try mismatches(seed, deletes) == [])
  }

  private func mismatches(_ seed: UInt64, _ deletes: DeleteRule) throws -> [String] {
    var mismatches: [String] = []
    var table = UniqueTable(seed: seed)
    let (a, b) = (try table.device(1, deletes: deletes), try table.device(2, deletes: deletes))
    try table.fill(a)
    try meet(a, b)
    for _ in 0..<8 {
      var row = table.row()
      if row.isEmpty { row = [("fixed", "'Dune'")] }
      let key = "\(Int.random(in: 0..<14, using: &table.random))"
      let sets = row.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")
      let condition = table.random.happens(0.7) ? " WHERE id = '\(key)'" : ""
      let statement =
        table.random.happens(0.5)
        ? table.insert(key, row, "REPLACE") : "UPDATE OR REPLACE t SET \(sets)\(condition)"
      var (removed, noted) = (Set<String>(), Set<String>())
      try a.database.write { db in
        let before = try UniqueTable.keys(db)
        try db.execute(sql: statement)
        removed = try before.subtracting(UniqueTable.keys(db))
        noted = Set(try String.fetchAll(db, sql: Self.notes))
      }
      // For NULL a default is written, and then every row may be what goes.
      let isDefaulted = row.contains {
        ["\"deleted\"", "\"fixed\""].contains($0.column) && $0.value == "NULL"
      }
      if !removed.isSubset(of: noted) || !isDefaulted && noted != removed {
        mismatches.append(
          "\(statement) removes \(removed) and notes \(noted) with \(table.indexes)")
      }
      try meet(a, b)
      if try b.exactly("t") != a.exactly("t") || b.store.counts().quarantined > 0 {
        mismatches.append("after \(statement) the other device differs, with \(table.indexes)")
      }
    }
    if mismatches.isEmpty { try expectEqual(a, b, "t") }
    return mismatches
  }

  private static let tags = """
    CREATE TABLE tag (
      id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL DEFAULT 'new',
      deleted BOOLEAN NOT NULL DEFAULT 0, low TEXT AS (lower(trim(name))));
    """

  /// Each takes away the row that has `meals`, and 'b' stays.
  @Test(
    arguments: [
      "(name) WHERE deleted = 0", "(name) WHERE NOT deleted", "(lower(name)) WHERE deleted IN (0)",
      "(low) WHERE deleted = FALSE", "(CASE WHEN deleted = 0 THEN name END)",
      "(nullif(name, 'x'), coalesce(deleted, 0)) WHERE deleted < 1",
    ],
    [
      "UPDATE OR REPLACE tag SET deleted = 0 WHERE id = 'b'",
      "INSERT OR REPLACE INTO tag (id, name) VALUES ('b', 'meals')",
      "REPLACE INTO tag VALUES ('b', 'meals', '0')",
      "INSERT OR REPLACE INTO tag VALUES ('b', 'meals', NULL)",
      "UPDATE OR REPLACE tag SET deleted = NULL WHERE id = 'b'",
      "UPDATE OR REPLACE tag SET deleted = deleted - 1 WHERE deleted = 1",
    ])
  func `each way to take a living row's place is a delete for everybody`(
    _ index: String, _ statement: String
  ) throws {
    for deletes in [DeleteRule.deleteWins, .updateWins, .lastWriter] {
      let schema = SyncSchema(version: 1, tables: [SyncTable("tag", deletes: deletes)])
      let (a, b) = try Device.pair(schema, "\(Self.tags) CREATE UNIQUE INDEX i ON tag \(index);")
      try a.execute("INSERT INTO tag VALUES ('a', 'meals', 0), ('b', 'meals', 1), ('c', 'x', 0)")
      try meet(a, b)
      try a.execute(statement)
      #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["b", "c"])
      try meet(a, b)
      #expect(try b.column("SELECT id || deleted FROM tag ORDER BY id") == ["b0", "c0"])
      #expect(try b.store.counts().quarantined == 0)
      try expectEqual(a, b, "tag")
    }
  }

  #if Rehearsal
  @Test func `a trigger that is blind to the columns of the WHERE is caught`() throws {
    let left = try Planted.with(.replaceBlind) {
      let schema = SyncSchema(version: 1, tables: [SyncTable("tag")])
      let (a, b) = try Device.pair(
        schema, "\(Self.tags) CREATE UNIQUE INDEX i ON tag (name) WHERE deleted = 0;")
      try a.execute("INSERT INTO tag VALUES ('a', 'meals', 0), ('b', 'meals', 1)")
      try meet(a, b)
      try a.execute("UPDATE OR REPLACE tag SET deleted = 0 WHERE id = 'b'")
      try meet(a, b)
      return try b.column("SELECT id FROM tag")
    }
    #expect(left == ["a"])
  }
  #endif

  @Test(arguments: ["ON", "OFF"])
  func `what the sqlite3 program replaces goes for everybody`(_ recursive: String) throws {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let schema = SyncSchema(version: 1, tables: [SyncTable("tag")])
      let steps = [Self.tags, "CREATE UNIQUE INDEX i ON tag (low) WHERE deleted = 0"]
      let a = try Device(DatabasePool(path: path), schema, id: 1, migrator: .steps(steps))
      let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps(steps))
      try a.execute("INSERT INTO tag VALUES ('a', 'meals', 0), ('b', 'Meals ', 1)")
      try meet(a, b)
      try meet(a, b)
      let statements = [
        "PRAGMA recursive_triggers = \(recursive)", "UPDATE OR REPLACE tag SET deleted = 0",
      ]
      #expect(try sqlite3(path, statements) == "")
      try meet(a, b)
      try meet(a, b)
      #expect(try b.column("SELECT id FROM tag") == ["b"])
      try expectEqual(a, b, "tag")
    }
  }

  @Test func `a default that is written for NULL takes a place through an expression`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("tag")])
    let (a, b) = try Device.pair(
      schema, "\(Self.tags) CREATE UNIQUE INDEX i ON tag (low) WHERE deleted = 0;")
    try a.execute("INSERT INTO tag VALUES ('a', 'NEW', 0), ('b', 'x', 0), ('c', 'new', 1)")
    try meet(a, b)
    try a.execute("UPDATE OR REPLACE tag SET name = NULL WHERE id = 'b'")
    #expect(try a.column("SELECT id || name FROM tag ORDER BY id") == ["bnew", "cnew"])
    try meet(a, b)
    try expectEqual(a, b, "tag")
  }

  @Test func `a statement that replaces nothing deletes nothing`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("tag", deletes: .updateWins)])
    let (a, b) = try Device.pair(
      schema, "\(Self.tags) CREATE UNIQUE INDEX i ON tag (lower(name)) WHERE deleted = 0;")
    try a.execute("INSERT INTO tag VALUES ('a', 'meals', 0), ('b', 'meals', 1)")
    try meet(a, b)
    let operations = try a.store.counts().operations
    for statement in [
      "INSERT OR IGNORE INTO tag (id, name) VALUES ('c', 'MEALS')",
      "UPDATE OR IGNORE tag SET deleted = 0",
      "UPDATE OR REPLACE tag SET deleted = 1 WHERE id = 'b'",
    ] { try a.execute(statement) }
    #expect(throws: DatabaseError.self) { try a.execute("UPDATE tag SET deleted = 0") }
    try a.store.seal()
    #expect(try a.store.counts().operations == operations)
    #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["a", "b"])
  }
}
