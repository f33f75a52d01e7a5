import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

private let schema = SyncSchema(version: 1, tables: [SyncTable("tag"), SyncTable("recipe")])

private func creation(_ index: String) -> String {
  """
  CREATE TABLE tag (
    id TEXT NOT NULL PRIMARY KEY, name TEXT, deleted BOOLEAN NOT NULL DEFAULT 0,
    low TEXT AS (lower(name)));
  CREATE TABLE recipe (id TEXT NOT NULL PRIMARY KEY, tag TEXT REFERENCES tag);
  CREATE UNIQUE INDEX i ON tag \(index);
  """
}

@Suite("Settlement: UNIQUE over a part of the rows and over expressions")
struct GuestComputedUniqueTests {
  /// Under each, two living tags collide whose names differ in case.
  static let indexes = [
    "(name COLLATE NOCASE) WHERE deleted = 0", "(lower(name)) WHERE NOT deleted",
    "(low) WHERE deleted = FALSE", "(CASE deleted WHEN 0 THEN low END)",
  ]

  /// The first of two that collide, and then the other.
  private func collided(_ index: String) throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema, creation(index))
    try a.commit("INSERT INTO tag VALUES ('1', 'meals', 0); INSERT INTO recipe VALUES ('r1', '1')")
    try delay(b, after: a)
    try b.commit(
      """
      INSERT INTO tag VALUES ('0', 'Meals', 1), ('2', 'MEALS', 0);
      INSERT INTO recipe VALUES ('r0', '0'), ('r2', '2')
      """)
    try meetTwice(a, b)
    return (a, b)
  }

  private func expectShown(_ shown: [String], _ devices: Device...) throws {
    for device in devices {
      #expect(try device.column("SELECT id FROM tag ORDER BY id") == shown)
      let recipes = shown.map { "r\($0)" }
      #expect(try device.column("SELECT id FROM recipe ORDER BY id") == recipes)
      #expect(try device.rows("PRAGMA integrity_check") == [["ok".databaseValue]])
      #expect(try device.rows("SELECT * FROM sqlite_temp_master").isEmpty)
    }
    try expectEqual(devices[0], devices[1], "tag", "recipe")
  }

  @Test(arguments: indexes)
  func `of two living rows the first is shown, beside rows that are soft-deleted`(_ index: String)
    throws
  {
    let (a, b) = try collided(index)
    try expectShown(["0", "1"], a, b)
    #expect(try a.store.counts().quarantined == 2)
  }

  @Test(arguments: indexes)
  func `the other is shown once the first is soft-deleted or renamed, here at the seal`(
    _ index: String
  ) throws {
    for change in ["deleted = 1", "name = 'other'", "name = NULL"] {
      let (a, b) = try collided(index)
      try b.commit("UPDATE tag SET \(change) WHERE id = '1'")
      #expect(try b.column("SELECT id FROM tag ORDER BY id") == ["0", "1", "2"])
      try meetTwice(a, b)
      try expectShown(["0", "1", "2"], a, b)
      #expect(try b.store.counts().quarantined == 0)
    }
  }

  @Test(arguments: indexes)
  func `a row that is undeleted elsewhere takes its place from one created later`(_ index: String)
    throws
  {
    let (a, b) = try Device.pair(schema, creation(index))
    try a.commit("INSERT INTO tag VALUES ('1', 'meals', 1); INSERT INTO recipe VALUES ('r1', '1')")
    try meet(a, b)
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('2', 'Meals', 0); INSERT INTO recipe VALUES ('r2', '2')")
    try a.commit("UPDATE tag SET deleted = 0")
    try meetTwice(a, b)
    try expectShown(["1"], a, b)
    try a.commit("UPDATE tag SET deleted = 1")
    try meetTwice(a, b)
    try expectShown(["1", "2"], a, b)
  }

  @Test(arguments: indexes)
  func `a local write that takes the place of an earlier row yields at the seal`(_ index: String)
    throws
  {
    let (a, b) = try collided(index)
    // The loser of '1' came before '3', which is written while '1' is away.
    try a.execute("UPDATE tag SET deleted = 1 WHERE id = '1'")
    try a.execute("INSERT INTO tag VALUES ('3', 'mealS', 0); INSERT INTO recipe VALUES ('r3', '3')")
    try a.store.seal()
    #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["0", "1", "2"])
    try meetTwice(a, b)
    try expectShown(["0", "1", "2"], a, b)
    #expect(try a.store.counts().quarantined == 2)
  }

  @Test(arguments: indexes)
  func `explain names the rival, and a soft-deleted row is none`(_ index: String) async throws {
    let (a, _) = try collided(index)
    let rival = RowExplanation.Reference(table: "tag", columns: ["id"], values: ["1"])
    let row = try await a.replica.explain("tag", key: ["2"])
    #expect(row.standing == .quarantined(.displaced, [rival]))
  }

  /// Readers of a pool may write nowhere, and a file is read without its app.
  @Test(arguments: indexes)
  func `explain of a file and through a reader says the same`(_ index: String) throws {
    let (a, _) = try collided(index)
    let rival = RowExplanation.Reference(table: "tag", columns: ["id"], values: ["1"])
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let pool = try DatabasePool(path: path)
      try a.database.backup(to: pool)
      let file = try DatabaseFileRow(path: path, table: "tag", key: ["2"])
      #expect(try file.explanation().standing == .quarantined(.displaced, [rival]))
      let diagnosis = try pool.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.filter { $0.check != "held" }.isEmpty)
    }
  }

  /// The order of arrival decides nothing (INV-01).
  @Test(arguments: indexes)
  func `every order of arrival gives the same rows`(_ index: String) throws {
    let authors = try (1...3).map { id in
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation(index)) }
    }
    let (a, b, c) = (authors[0], authors[1], authors[2])
    try a.commit("INSERT INTO tag VALUES ('0', 'meals', 1), ('1', 'meals', 0)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('2', 'MEALS', 0)")
    try delay(c, after: b)
    try c.commit("INSERT INTO tag VALUES ('3', 'Meals', 0)")
    try a.commit("UPDATE tag SET deleted = 1 WHERE id = '1'")
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    for (number, order) in orders.enumerated() {
      let device = try Device(schema, id: UInt64(10 + number)) {
        try $0.execute(sql: creation(index))
      }
      for author in order { try device.pull(from: authors[author]) }
      #expect(try device.column("SELECT id FROM tag ORDER BY id") == ["0", "1", "2"])
      try expectHealthy(device)
    }
  }

  @Test(arguments: indexes)
  func `an index that a migration adds or drops is heeded`(_ index: String) throws {
    let plain = String(creation(index).split(separator: "CREATE UNIQUE")[0])
    let added = "CREATE UNIQUE INDEX i ON tag \(index)"
    var a = try Device(DatabaseQueue(), schema, id: 1, migrator: .steps([plain]))
    let b = try Device(DatabaseQueue(), schema, id: 2, migrator: .steps([plain]))
    try a.commit("INSERT INTO tag VALUES ('1', 'x', 0), ('4', 'x', 1)")
    try meetTwice(a, b)
    a = try a.upgraded(schema, plain, added)
    try b.commit("INSERT INTO tag VALUES ('2', 'X', 0), ('3', 'y', 0)")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["1", "3", "4"])
    try a.execute("UPDATE OR REPLACE tag SET name = 'Y' WHERE id = '1'")
    try meetTwice(a, b)
    #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["1", "2", "4"])
    try expectEqual(a, b, "tag")
    a = try a.upgraded(schema, plain, added, "DROP INDEX i")
    try expectEqual(a, b, "tag")
  }

  @Test func `a harmless trigger of the app's runs for rows beside one that is refused`() throws {
    let (a, b) = try Device.pair(
      schema,
      creation("(lower(name))") + """
        CREATE TABLE seen (id TEXT PRIMARY KEY);
        CREATE TRIGGER see AFTER INSERT ON tag BEGIN INSERT INTO seen VALUES (NEW.id); END;
        """)
    try a.commit("INSERT INTO tag VALUES ('1', 'x', 0)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('2', 'X', 0), ('3', 'y', 0)")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM seen ORDER BY id") == ["1", "3"])
    #expect(try a.column("SELECT id FROM tag ORDER BY id") == ["1", "3"])
  }
}
