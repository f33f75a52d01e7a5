import GRDB
import Tern
import TestDevice
import Testing

private let tags = """
  CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT COLLATE NOCASE, color, sameAs TEXT);
  CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
  CREATE TABLE recipe (id TEXT NOT NULL PRIMARY KEY, title);
  CREATE TABLE recipeTag (
    recipe TEXT NOT NULL REFERENCES recipe ON DELETE CASCADE,
    tag TEXT NOT NULL REFERENCES tag ON DELETE CASCADE, PRIMARY KEY (recipe, tag));
  """

private let tagTable = SyncTable("tag", collisions: .fold(into: "sameAs"))
private let schema = SyncSchema(
  version: 1, tables: [tagTable, SyncTable("recipe"), SyncTable("recipeTag")])

/// As the page on conflicts has an app ask.
private let groups = """
  SELECT DISTINCT g.name, r.title FROM tag AS g JOIN tag AS t ON t.id = g.id OR t.sameAs = g.id
  JOIN recipeTag AS u ON u.tag = t.id JOIN recipe AS r ON r.id = u.recipe
  WHERE g.sameAs IS NULL ORDER BY 1, 2
  """

private func row(_ values: String?...) -> [DatabaseValue] { values.map(\.databaseValue) }

extension Device {
  fileprivate var tags: [[DatabaseValue]] {
    get throws { try rows("SELECT id, name, sameAs FROM tag ORDER BY id") }
  }
}

@Suite("Settlement: rows that mean the same")
struct FoldTests {
  /// The first tag is created before the second.
  private func twoTags() throws -> (Device, Device) {
    let (a, b) = try Device.pair(schema, tags)
    try a.execute(
      """
      INSERT INTO tag VALUES ('1', 'meals', 'red', NULL); INSERT INTO recipe VALUES ('r', 'Rice');
      INSERT INTO recipeTag VALUES ('r', '1')
      """)
    try delay(b, after: a)
    try b.execute(
      """
      INSERT INTO tag VALUES ('2', 'Meals', 'blue', NULL); INSERT INTO recipe VALUES ('s', 'Soup');
      INSERT INTO recipeTag VALUES ('s', '2')
      """)
    try meetTwice(a, b)
    return (a, b)
  }

  private func expectHealthy(_ devices: Device...) throws {
    for device in devices {
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try device.store.counts().quarantined == 0)
    }
  }

  @Test func `two tags of one name are one tag with all its recipes`() throws {
    let (a, b) = try twoTags()
    for device in [a, b] {
      #expect(try device.tags == [row("1", "meals", nil), row("2", "Meals", "1")])
      #expect(try device.rows(groups) == [row("meals", "Rice"), row("meals", "Soup")])
    }
    try expectHealthy(a, b)
    // A merge writes no operations.
    let operations = try a.store.counts().operations
    try meetTwice(a, b)
    #expect(try a.store.counts().operations == operations)
    #expect(try b.store.counts().operations == operations)
  }

  @Test func `a join row that comes later counts for the group`() throws {
    let (a, b) = try twoTags()
    try b.execute(
      "INSERT INTO recipe VALUES ('t', 'Tofu'); INSERT INTO recipeTag VALUES ('t', '2')")
    try meetTwice(a, b)
    #expect(try a.rows(groups).count == 3)
  }

  @Test func `a renamed loser stands alone, and a renamed winner shows it`() throws {
    for (writer, id) in [("a", "2"), ("b", "1"), ("a", "1"), ("b", "2")] {
      let (a, b) = try twoTags()
      let device = writer == "a" ? a : b
      try device.execute("UPDATE tag SET name = 'breakfast' WHERE id = '\(id)'")
      try device.store.seal()
      #expect(try device.column("SELECT sameAs FROM tag WHERE sameAs IS NOT NULL").isEmpty)
      try meetTwice(a, b)
      for device in [a, b] {
        #expect(try device.column("SELECT sameAs FROM tag WHERE sameAs IS NOT NULL").isEmpty)
        #expect(try device.rows(groups).count == 2)
      }
      try expectHealthy(a, b)
    }
  }

  @Test func `a deleted winner shows the other`() throws {
    let (a, b) = try twoTags()
    try b.execute("DELETE FROM tag WHERE id = '1'")
    try b.store.seal()
    #expect(try b.tags == [row("2", "Meals", nil)])
    try meetTwice(a, b)
    #expect(try a.tags == [row("2", "Meals", nil)])
    #expect(try a.rows(groups) == [row("Meals", "Soup")])
    try expectHealthy(a, b)
  }

  @Test func `a loser that is deleted is gone, and changed elsewhere it is changed`() throws {
    let (a, b) = try twoTags()
    try a.execute("UPDATE tag SET color = 'green' WHERE id = '2'")
    try meetTwice(a, b)
    #expect(try b.column("SELECT color FROM tag ORDER BY id") == ["red", "green"])
    #expect(try b.tags.last == row("2", "Meals", "1"))
    try a.execute("DELETE FROM tag WHERE id = '2'")
    try meetTwice(a, b)
    #expect(try b.tags == [row("1", "meals", nil)])
    try expectHealthy(a, b)
  }

  @Test func `a third that was created before both takes both in`() throws {
    let (early, late) = try Device.pair(schema, tags)
    let third = try Device(schema, id: 3) { try $0.execute(sql: tags) }
    try third.execute("INSERT INTO tag VALUES ('0', 'MEALS', 'grey', NULL)")
    try delay(early, after: third)
    try early.execute("INSERT INTO tag VALUES ('1', 'meals', 'red', NULL)")
    try delay(late, after: early)
    try late.execute("INSERT INTO tag VALUES ('2', 'Meals', 'blue', NULL)")
    try meetTwice(early, late)
    #expect(try late.tags == [row("1", "meals", nil), row("2", "Meals", "1")])
    for device in [early, late] { try meetTwice(device, third) }
    try meetTwice(early, third)
    for device in [early, late, third] {
      #expect(try device.column("SELECT sameAs FROM tag ORDER BY id") == [nil, "0", "0"])
    }
    try expectHealthy(early, late, third)
  }

  @Test func `undo of the winner's insert leaves the other`() async throws {
    let (a, b) = try Device.pair(schema, tags)
    try a.execute("INSERT INTO tag VALUES ('1', 'meals', 'red', NULL)")
    try delay(b, after: a)
    try b.execute("INSERT INTO tag VALUES ('2', 'meals', 'blue', NULL)")
    try meetTwice(a, b)
    _ = try await a.replica.undo()
    try a.store.seal()
    #expect(try a.tags == [row("2", "meals", nil)])
    try meetTwice(a, b)
    #expect(try b.tags == [row("2", "meals", nil)])
  }

  @Test func `an app that writes the pointer is set right at the seal`() throws {
    let (a, b) = try twoTags()
    try a.execute("INSERT INTO tag SELECT '3', 'lunch', color, sameAs FROM tag WHERE id = '2'")
    try a.store.seal()
    #expect(try a.tags.last == row("3", "lunch", nil))
    try a.execute("INSERT INTO tag VALUES ('4', 'LUNCH', NULL, '2')")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.tags.last == row("4", "LUNCH", "3")) }
    try expectHealthy(a, b)
  }

  @Test func `a new device has the same pointers`() throws {
    let (a, b) = try twoTags()
    let newcomer = try Device(schema, id: 3) { try $0.execute(sql: tags) }
    try newcomer.load(Parts(of: a))
    #expect(try newcomer.tags == b.tags)
    try newcomer.load(Parts(of: b))
    #expect(try newcomer.tags == b.tags)
    try expectHealthy(newcomer)
  }

  @Test func `a loser whose winner loses its parent is quarantined`() throws {
    let sql = """
      CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name UNIQUE);
      CREATE TABLE tag (
        id TEXT NOT NULL PRIMARY KEY, name, shelf TEXT REFERENCES shelf, sameAs TEXT);
      CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
      """
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: [SyncTable("shelf"), tagTable]), sql)
    try a.execute("INSERT INTO shelf VALUES ('1', 'top')")
    try delay(b, after: a)
    try b.execute(
      "INSERT INTO shelf VALUES ('2', 'top'); INSERT INTO tag VALUES ('t', 'x', '2', NULL)")
    try delay(a, after: b)
    try a.execute("INSERT INTO tag VALUES ('u', 'x', NULL, NULL)")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.tags.isEmpty)
      #expect(try device.store.counts().quarantined == 3)
    }
    try b.execute("DELETE FROM shelf WHERE id = '1'")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.tags == [row("t", "x", nil), row("u", "x", "t")]) }
    try expectHealthy(a, b)
  }

  private let twoIndexes = """
    CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
    CREATE TABLE tag (
      id TEXT NOT NULL PRIMARY KEY, name, code, shelf TEXT REFERENCES shelf, sameAs TEXT);
    CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
    CREATE UNIQUE INDEX tag_code ON tag (code) WHERE sameAs IS NULL AND code > 0;
    """

  @Test func `a row that comes with its parent is the one to point to`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf"), tagTable])
    let devices = try (1...6).map { (id: UInt64) in
      try Device(schema, id: id) { try $0.execute(sql: twoIndexes) }
    }
    let (shelf, early, middle, late) = (devices[0], devices[1], devices[2], devices[3])
    try shelf.commit("INSERT INTO shelf VALUES ('s')")
    let parent = try shelf.store.operations(lackedBy: .init(), maximumBytes: .max)
    try early.pull(from: shelf)
    try early.commit("INSERT INTO tag VALUES ('early', 'e', 1, 's', NULL)")
    try delay(middle, after: early)
    try middle.commit("INSERT INTO tag VALUES ('middle', 'x', 2, NULL, NULL)")
    try delay(late, after: middle)
    try late.commit("INSERT INTO tag VALUES ('late', 'x', 1, NULL, NULL)")
    for other in devices[..<4] { try devices[4].pull(from: other) }
    let all = try devices[4].store.operations(lackedBy: .init(), maximumBytes: .max)
    try devices[5].merge(all.filter { $0.envelope.replica != parent[0].envelope.replica })
    #expect(try devices[5].column("SELECT sameAs FROM tag WHERE id = 'late'") == ["middle"])
    try devices[5].merge(parent)
    for device in devices[4...] {
      #expect(try device.column("SELECT sameAs FROM tag WHERE id = 'late'") == ["early"])
      try expectHealthy(device)
    }
  }

  @Test func `rows that stay folded are not written again`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf"), tagTable])
    let (a, b) = try Device.pair(
      schema,
      twoIndexes + """
        CREATE TABLE fired (id);
        CREATE TRIGGER fires AFTER UPDATE ON tag BEGIN INSERT INTO fired VALUES (NEW.id); END;
        """)
    try a.commit("INSERT INTO tag VALUES ('1', 'x', 1, NULL, NULL)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('2', 'x', 2, NULL, NULL)")
    try meetTwice(a, b)
    for device in [a, b] { try device.execute("DELETE FROM fired") }
    try a.commit("INSERT INTO tag VALUES ('3', 'y', 3, NULL, NULL)")
    // It collides with the one that is folded, and came later than what has that one's place.
    try a.commit("INSERT INTO tag VALUES ('4', 'z', 2, NULL, NULL)")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.column("SELECT sameAs FROM tag ORDER BY id") == [nil, "1", nil, nil])
      #expect(try device.column("SELECT id FROM fired").isEmpty)
      try expectHealthy(device)
    }
  }

  @Test func `an index that GRDB made folds`() throws {
    let devices = try (1...2).map { (id: UInt64) in
      try Device(SyncSchema(version: 1, tables: [tagTable]), id: id) { db in
        try db.create(table: "tag") { table in
          table.primaryKey("id", .text).notNull()
          table.column("name", .text).notNull()
          table.column("deleted", .integer).notNull().defaults(to: 0)
          table.column("sameAs", .text)
        }
        try db.create(
          index: "tag_name", on: "tag", columns: ["name"], options: .unique,
          condition: Column("sameAs") == nil && Column("deleted") == 0)
      }
    }
    try devices[0].commit("INSERT INTO tag (id, name) VALUES ('1', 'x')")
    try delay(devices[1], after: devices[0])
    try devices[1].commit("INSERT INTO tag (id, name) VALUES ('2', 'x')")
    try meetTwice(devices[0], devices[1])
    for device in devices {
      #expect(try device.column("SELECT sameAs FROM tag ORDER BY id") == [nil, "1"])
    }
    try devices[0].commit("UPDATE tag SET deleted = 1 WHERE id = '1'")
    try meetTwice(devices[0], devices[1])
    for device in devices {
      #expect(try device.column("SELECT sameAs FROM tag ORDER BY id") == [nil, nil])
    }
  }

  private static func findings(_ device: Device) throws -> [String] {
    try device.database.read { try DatabaseDiagnosis($0) }.findings.map(\.check)
  }

  @Test func `explain and the doctor know folded rows`() async throws {
    let (a, _) = try twoTags()
    let standing = try await a.replica.explain("tag", key: ["2"]).standing
    #expect(
      standing == .folded(into: [.init(table: "tag", columns: ["id"], values: ["1"])]))
    #expect(try Self.findings(a).isEmpty)
    try a.execute("UPDATE tag SET sameAs = '7' WHERE id = '2'")
    #expect(try Self.findings(a) == ["held-reason"])
    try a.execute("UPDATE tag SET color = 'pink' WHERE id = '2'")
    try a.store.seal()
    #expect(try a.tags.last == row("2", "Meals", "1"))
    try a.execute("DELETE FROM grdb_tern_main_held")
    #expect(try Self.findings(a) == ["held-stray"])
    try a.execute("UPDATE tag SET color = 'blue' WHERE id = '2'")
    try a.store.seal()
    #expect(try Self.findings(a).isEmpty)
  }

  private static let bareTags = """
    CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, name TEXT, sameAs TEXT);
    CREATE UNIQUE INDEX tag_name ON tag (name) WHERE sameAs IS NULL;
    """

  /// Every column that travels is written then, as a REPLACE does it too.
  @Test func `who was first stays it, however often the group is renamed`() throws {
    let (a, b) = try Device.pair(SyncSchema(version: 1, tables: [tagTable]), Self.bareTags)
    try a.commit("INSERT INTO tag VALUES ('9', 'meals', NULL)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('1', 'meals', NULL)")
    try meetTwice(a, b)
    for (device, name) in [(a, "lunch"), (b, "dinner"), (a, "supper")] {
      try device.commit("UPDATE tag SET name = '\(name)' WHERE id = '9' OR sameAs = '9'")
      try meetTwice(a, b)
      #expect(try a.tags == [row("1", name, "9"), row("9", name, nil)])
      #expect(try a.tags == b.tags)
    }
    try a.commit("UPDATE tag SET name = 'here'")
    try delay(b, after: a)
    try b.commit("UPDATE tag SET name = 'there'")
    try meetTwice(a, b)
    #expect(try Set((a.inbox + b.inbox).map(\.kind)) == [.folded, .lastWriter])
    #expect(try a.tags == [row("1", "there", "9"), row("9", "there", nil)])
  }
}
