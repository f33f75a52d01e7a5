import GRDB
import Tern
import TestDevice
import Testing

private let creation =
  "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, n INTEGER NOT NULL DEFAULT 0)"
private let seed = "INSERT INTO t VALUES ('9', 'seed', 3)"

private func schema(_ deletes: DeleteRule, version: UInt32 = 1) -> SyncSchema {
  SyncSchema(version: version, tables: [SyncTable("t", merge: ["n": .counter], deletes: deletes)])
}

/// Two devices with a row that everybody knows, and one that a migration brought to each.
private func seeded(_ deletes: DeleteRule = .deleteWins) throws -> (Device, Device) {
  let (a, b) = try Device.pair(schema(deletes), creation)
  try a.commit("INSERT INTO t VALUES ('1', 'own', 0)")
  try meet(a, b)
  return (try a.upgraded(schema(deletes), seed), try b.upgraded(schema(deletes), seed))
}

/// The same, with the row deleted and brought again by another migration.
private func seededAgain(_ deletes: DeleteRule) throws -> (Device, Device) {
  let (a, b) = try seeded(deletes)
  try a.commit("DELETE FROM t WHERE id = '9'")
  try meet(a, b)
  let again = "INSERT INTO t VALUES ('9', 'again', 0)"
  return (
    try a.upgraded(schema(deletes), seed, again), try b.upgraded(schema(deletes), seed, again)
  )
}

extension Device {
  fileprivate var rows: [String?] {
    get throws { try column("SELECT id || ' ' || a || n FROM t ORDER BY id") }
  }

  fileprivate func life(_ id: String) throws -> UInt32? {
    try store.canonicalState().first { $0.key == [.string(id)] }?.life
  }
}

/// Rows that are in a table and in no state, as a migration inserted them.
@Suite("Undo: rows that a migration inserted")
struct MigratedRowTests {
  // MARK: - Undo

  @Test func `an undo of the first edit leaves the row, and says that it is forgotten`() throws {
    let (a, b) = try seeded()
    try a.commit("UPDATE t SET a = 'edited' WHERE id = '9'; INSERT INTO t VALUES ('2', 'new', 0)")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.left, .removed])
    #expect(undone.rows[0].left == ["a": .forgotten, "n": .forgotten])
    try meet(a, b)
    #expect(try b.rows == ["1 own0", "9 edited3"])
    try expectEqual(a, b, "t")
    // Later edits are known, and so is what came before the upgrade.
    try a.commit("UPDATE t SET a = 'again', n = 4 WHERE id = '9'")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.rows == ["1 own0", "9 edited3"])
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    #expect(try a.rows == ["9 edited3"])
    #expect(try a.store.undo() == nil)
  }

  @Test func `an undo leaves such a row too where the app deleted and inserted it at once`() throws
  {
    let (a, b) = try seeded()
    try a.commit("DELETE FROM t WHERE id = '9'; INSERT INTO t VALUES ('9', 'new', 0)")
    #expect(try a.store.undo()?.rows.map(\.action) == [.left])
    try meet(a, b)
    #expect(try b.rows == ["1 own0", "9 new0"])
    try expectEqual(a, b, "t")
  }

  @Test(
    arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter],
    [
      "REPLACE INTO t VALUES ('9', 'new', 0)",
      "INSERT OR REPLACE INTO t (id, a) SELECT id, 'new' FROM t WHERE id = '9'",
      "INSERT INTO t VALUES ('9', 'new', 0) ON CONFLICT DO UPDATE SET a = 'new', n = 0",
    ])
  func `an undo leaves such a row too where another took its place under its key`(
    _ rule: DeleteRule, _ sql: String
  ) throws {
    let (a, b) = try seeded(rule)
    try a.commit("\(sql); REPLACE INTO t VALUES ('1', 'known', 0)")
    try meet(a, b)
    let undone = try #require(try a.store.undo())
    let rows = Dictionary(uniqueKeysWithValues: undone.rows.map { ($0.key, $0) })
    #expect(rows[["9"]]?.action == .left)
    #expect(rows[["9"]]?.left == ["a": .forgotten, "n": .forgotten])
    #expect(rows[["1"]]?.action == .restored)
    try meet(a, b)
    #expect(try b.rows == ["1 own0", "9 new0"])
    try expectEqual(a, b, "t")
    try a.commit("REPLACE INTO t VALUES ('9', 'newer', 5)")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    #expect(try a.rows == ["1 own0", "9 new0"])
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `an undo leaves a row too that a migration brought after its key was deleted`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try seededAgain(rule)
    try a.commit("REPLACE INTO t VALUES ('9', 'new', 0)")
    #expect(try a.store.undo()?.rows.map(\.action) == [.left])
    try meet(a, b)
    #expect(try b.rows == ["1 own0", "9 new0"])
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `an undo takes away a new row that another took the place of`(_ rule: DeleteRule) throws {
    let (a, _) = try seeded(rule)
    try a.commit("INSERT INTO t VALUES ('2', 'new', 0); REPLACE INTO t VALUES ('2', 'newer', 0)")
    #expect(try a.store.undo()?.rows.map(\.action) == [.removed])
    #expect(try a.rows == ["1 own0", "9 seed3"])
    try a.execute("INSERT INTO t VALUES ('3', 'passing', 0); REPLACE INTO t VALUES ('3', 'on', 0)")
    try a.execute("DELETE FROM t WHERE id = '3'")
    #expect(try a.store.seal().isEmpty)
  }

  @Test func `inserts are searched for such rows while the table has some`() throws {
    func guards(_ device: Device) throws -> [String?] {
      try device.column("SELECT name FROM sqlite_master WHERE name GLOB 'grdb_*_standing_*'")
    }
    let (a, _) = try seeded()
    #expect(try guards(a) == ["grdb_tern_main_standing_1"])
    #expect(throws: DatabaseError.self) { try a.upgraded(schema(.deleteWins), seed, "no SQL") }
    #expect(try guards(a) == ["grdb_tern_main_standing_1"])
    var again = try a.upgraded(schema(.deleteWins), seed)
    #expect(try guards(again) == ["grdb_tern_main_standing_1"])
    try again.commit("REPLACE INTO t VALUES ('9', 'new', 0)")
    // Nobody looks before something changes the schema.
    again = try again.upgraded(schema(.deleteWins), seed)
    #expect(try guards(again) == ["grdb_tern_main_standing_1"])
    again = try again.upgraded(schema(.deleteWins), seed, "CREATE TABLE other (id)")
    #expect(try guards(again) == [])
    try expectHealthy(again)
  }

  @Test
  func `an undo takes away an inserted row that a trigger wrote to before the insert was noted`()
    throws
  {
    let (a, _) = try seeded()
    try a.execute(
      """
      CREATE TEMP TRIGGER quick AFTER INSERT ON t
      BEGIN UPDATE t SET a = upper(a) WHERE id = NEW.id; END
      """)
    try a.commit("INSERT INTO t VALUES ('2', 'new', 0); UPDATE t SET n = 4 WHERE id = '9'")
    #expect(try a.rows == ["1 own0", "2 NEW0", "9 seed4"])
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.key) == [["9"], ["2"]] || undone.rows.map(\.key) == [["2"], ["9"]])
    #expect(Set(undone.rows.map(\.action)) == [.removed, .left])
    #expect(try a.rows == ["1 own0", "9 seed4"])
  }

  @Test func `what is remembered of such rows goes with the log`() throws {
    func open(_ database: DatabaseQueue, _ steps: String...) throws -> SQLiteReplicaStore {
      try Replica.openBlocking(
        database, schema: schema(.deleteWins), migrator: .steps(steps),
        logRetention: .seconds(-60), makeID: { ReplicaID(high: 0, low: 1) }
      ).store
    }
    let database = try DatabaseQueue()
    _ = try open(database, creation)
    let store = try open(database, creation, seed)
    func remembered() throws -> Int? {
      try database.read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_main_migrated")
      }
    }
    for name in ["first", "second", "third"] {
      try database.write { try $0.execute(sql: "UPDATE t SET a = ?", arguments: [name]) }
      try store.seal()
      #expect(try remembered() == 1)
    }
    try store.trim(heldBy: store.versionVector(), at: "peer")
    #expect(try store.counts().operations == 1)
    #expect(try remembered() == 0)
  }

  @Test func `an undo does not empty the texts of a column that a migration filled`() throws {
    let plain = SyncSchema(version: 1, tables: [SyncTable("t")])
    let old = try (1...2).map { id in
      try Device(plain, id: UInt64(id)) {
        try $0.execute(sql: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name)")
      }
    }
    try old[0].commit("INSERT INTO t VALUES ('1', 'dune')")
    try meet(old[0], old[1])
    let texts = SyncSchema(version: 2, tables: [SyncTable("t", merge: ["body": .text])])
    let steps = "ALTER TABLE t ADD COLUMN body TEXT NOT NULL DEFAULT ''; UPDATE t SET body = name"
    let (a, b) = (try old[0].upgraded(texts, steps), try old[1].upgraded(texts, steps))
    #expect(try b.store.undo() == nil)
    try a.commit("UPDATE t SET body = body || '!'")
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored])
    try meet(a, b)
    #expect(try b.column("SELECT body FROM t") == ["dune"])
    try expectEqual(a, b, "t")
  }

  // MARK: - Deletes

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `an edit and a delete of such a row at once delete it everywhere`(_ rule: DeleteRule) throws
  {
    let (a, b) = try seeded(rule)
    try a.execute("UPDATE t SET a = 'edited' WHERE id = '9'; DELETE FROM t WHERE id = '9'")
    try meet(a, b)
    #expect(try b.rows == ["1 own0"])
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a REPLACE and a delete of such a row at once delete it everywhere`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try seeded(rule)
    try a.execute("REPLACE INTO t VALUES ('9', 'new', 0); DELETE FROM t WHERE id = '9'")
    try meet(a, b)
    #expect(try b.rows == ["1 own0"])
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row that the state has is kept as it was last when it is replaced and deleted`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try seeded(rule)
    try a.execute("REPLACE INTO t VALUES ('1', 'last', 7); DELETE FROM t WHERE id = '1'")
    try meet(a, b)
    #expect(try b.rows == ["9 seed3"])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
    guard rule.keepsContent else { return }
    #expect(try a.store.undo()?.rows.map(\.action) == [.broughtBack])
    try meet(a, b)
    #expect(try b.rows == ["1 own0", "9 seed3"])
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `a row that a migration brings after its key was deleted can be deleted again`(
    _ rule: DeleteRule
  ) throws {
    let (a, b) = try seededAgain(rule)
    #expect(try a.rows == ["1 own0", "9 again0"])
    try a.execute("DELETE FROM t WHERE id = '9'")
    try meet(a, b)
    #expect(try b.rows == ["1 own0"])
    try expectEqual(a, b, "t")
    try b.execute("INSERT INTO t VALUES ('9', 'new', 1)")
    try meet(a, b)
    #expect(try a.rows == ["1 own0", "9 new1"])
    try expectEqual(a, b, "t")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `what was deleted before is not deleted again`(_ rule: DeleteRule) throws {
    let (a, b) = try seeded(rule)
    try a.commit("DELETE FROM t")
    try meet(a, b)
    let lives = [try a.life("1"), try a.life("9")]
    // It came and went.
    try a.execute("INSERT INTO t VALUES ('1', 'new', 0)")
    try a.execute("UPDATE t SET a = 'newer'; DELETE FROM t")
    #expect(try a.store.seal().isEmpty)
    // A table that syncs again notes what it has not.
    let without = try a.upgraded(SyncSchema(version: 2, tables: []), seed)
    let again = try without.upgraded(schema(rule, version: 3), seed)
    #expect(try again.store.seal().isEmpty)
    #expect(try [again.life("1"), again.life("9")] == lives)
    try meet(again, b)
    try expectEqual(again, b, "t")
  }

  // MARK: - Notes that say nothing

  private func tags(_ rule: DeleteRule) throws -> (Device, Device) {
    let schema = SyncSchema(version: 1, tables: [SyncTable("tag", deletes: rule)])
    let creation = "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name UNIQUE, color)"
    let seed = "INSERT INTO tag VALUES ('1', 'to read', 'red')"
    let (a, b) = try Device.pair(schema, creation)
    return (try a.upgraded(schema, seed), try b.upgraded(schema, seed))
  }

  @Test(
    arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter],
    [
      "INSERT INTO tag (id, name) VALUES ('2', 'to read') ON CONFLICT (name) DO NOTHING",
      "INSERT OR IGNORE INTO tag VALUES ('2', 'to read', 'green')",
      "UPDATE tag SET color = color",
    ])
  func `what writes nothing to such a row beats nobody's edit`(_ rule: DeleteRule, _ sql: String)
    throws
  {
    let (a, b) = try tags(rule)
    try b.commit("UPDATE tag SET color = 'blue'")
    try a.execute(sql)
    #expect(try a.store.seal().isEmpty)
    try meet(a, b)
    #expect(try a.column("SELECT color FROM tag") == ["blue"])
    try expectEqual(a, b, "tag")
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `what writes something beside that travels whole`(_ rule: DeleteRule) throws {
    let (a, b) = try tags(rule)
    try a.execute("INSERT OR IGNORE INTO tag VALUES ('2', 'to read', 'green')")
    try a.execute("UPDATE tag SET color = color; UPDATE tag SET color = 'green'")
    try b.execute("UPDATE tag SET color = color; DELETE FROM tag")
    try b.execute("INSERT INTO tag VALUES ('1', 'other', NULL)")
    try b.execute("INSERT INTO tag VALUES ('3', 'new', 'n') ON CONFLICT DO NOTHING")
    try b.execute("INSERT INTO tag VALUES ('4', 'new', 'n') ON CONFLICT DO NOTHING")
    let c = try Device(
      SyncSchema(version: 1, tables: [SyncTable("tag", deletes: rule)]), id: 3
    ) {
      try $0.execute(sql: "CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name UNIQUE, color)")
    }
    try meet(a, c)
    #expect(try c.column("SELECT name || color FROM tag") == ["to readgreen"])
    try meet(a, b)
    try meet(a, c)
    #expect(try c.column("SELECT id FROM tag ORDER BY id") == ["1", "3"])
    try expectEqual(a, c, "tag")
    try expectEqual(a, b, "tag")
    // One that a REPLACE removes is deleted for everybody.
    try a.execute("UPDATE tag SET name = 'to read' WHERE id = '1'")
    try a.execute("INSERT OR REPLACE INTO tag VALUES ('2', 'to read', 'r')")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM tag ORDER BY id") == ["2", "3"])
    try expectEqual(a, b, "tag")
  }

  @Test func `a REPLACE that removes such a row deletes it for everybody`() throws {
    let (a, b) = try tags(.deleteWins)
    try a.execute("INSERT OR REPLACE INTO tag VALUES ('2', 'to read', 'r')")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM tag") == ["2"])
    try expectEqual(a, b, "tag")
  }
}
