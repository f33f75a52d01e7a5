import GRDB
import Tern
import TestDevice
import Testing

@Suite("Settlement: rows without their deleted parents, where something else keeps them out")
struct RefusedVeilTests {
  private func devices(_ creation: String, _ tables: [String]) throws -> [Device] {
    let schema = SyncSchema(version: 1, tables: tables.map { SyncTable($0) })
    return try (1...3).map { id in
      try Device(schema, id: UInt64(id)) { try $0.execute(sql: creation) }
    }
  }

  private func expectSame(_ devices: [Device]) throws {
    for device in devices {
      #expect(try device.store.canonicalState() == devices[0].store.canonicalState())
      #expect(try device.database.read { try DatabaseDiagnosis($0).findings }.isEmpty)
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
    }
  }

  @Test func `a row that lacks another parent too keeps what it refers to`() throws {
    let all = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, person TEXT REFERENCES person ON DELETE SET NULL,
        list TEXT REFERENCES list ON DELETE CASCADE, slot UNIQUE)
      """, ["person", "list", "item"])
    let (a, b) = (all[0], all[1])
    try a.commit("INSERT INTO person VALUES ('p'); INSERT INTO list VALUES ('l')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('i', 'p', 'l', 'x')")
    try delay(b, after: a)
    try b.commit(
      """
      INSERT INTO item VALUES ('k', NULL, NULL, 'x'); DELETE FROM person; DELETE FROM list
      """)
    try meetTwice(a, b)
    try all[2].pull(from: b)
    try expectSame(all)
    try a.commit("INSERT INTO person VALUES ('p'); INSERT INTO list VALUES ('l')")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.column("SELECT person FROM item") == ["p"]) }
    try expectSame([a, b])
  }

  @Test func `a default that comes with its place in a UNIQUE index is waited for`() throws {
    let all = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, name UNIQUE);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY,
        person TEXT DEFAULT 'd' REFERENCES person ON DELETE SET DEFAULT, slot UNIQUE)
      """, ["person", "item"])
    let (a, b, c) = (all[0], all[1], all[2])
    try a.commit("INSERT INTO person VALUES ('p', 'P')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('i', 'p', 1)")
    try c.pull(from: a)
    try a.commit("INSERT INTO person VALUES ('d', 'n')")
    try delay(b, after: a)
    try b.commit("INSERT INTO person VALUES ('f', 'n')")
    try c.pull(from: b)
    try b.commit("DELETE FROM person WHERE id = 'p'")
    try meetTwice(a, b)
    try c.pull(from: a)
    for device in all { #expect(try device.column("SELECT person FROM item") == ["d"]) }
    try expectSame(all)
  }

  @Test func `a row that cannot be veiled leaves its children's places to others`() throws {
    let all = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, person TEXT NOT NULL REFERENCES person ON DELETE SET NULL);
      CREATE TABLE tag (
        id TEXT NOT NULL PRIMARY KEY, item TEXT REFERENCES item ON DELETE CASCADE, slot UNIQUE)
      """, ["person", "item", "tag"])
    let (a, b, c) = (all[0], all[1], all[2])
    try a.commit("INSERT INTO person VALUES ('p')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('i', 'p'); INSERT INTO tag VALUES ('t', 'i', 'x')")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('u', NULL, 'x')")
    try c.pull(from: a)
    try c.pull(from: b)
    #expect(try c.column("SELECT id FROM tag") == ["t"])
    try b.commit("DELETE FROM person")
    try meetTwice(a, b)
    // The item alone refers to a row that is deleted.
    #expect(try c.pull(from: b).conflicts[.parentDeleted] == 1)
    for device in all { #expect(try device.column("SELECT id FROM tag") == ["u"]) }
    try expectSame(all)
  }

  @Test(arguments: [
    ("INT DEFAULT '1'", "1"), ("INT DEFAULT '1'", "7"), ("TEXT DEFAULT 1", "1"),
    ("TEXT DEFAULT 1", "7"), ("TEXT DEFAULT inbox", "inbox"), ("TEXT DEFAULT \"inbox\"", "inbox"),
    ("TEXT DEFAULT 'it''s'", "it''s"),
  ])
  func `a default is what the column makes of it`(_ column: String, _ other: String) throws {
    let type = column.hasPrefix("TEXT") ? "TEXT" : "INT"
    let all = try devices(
      """
      CREATE TABLE person (id \(type) NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, person \(column) REFERENCES person ON DELETE SET DEFAULT)
      """, ["person", "item"])
    let (a, b) = (all[0], all[1])
    try a.commit("INSERT INTO person VALUES (5), ('\(other)')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('i', 5)")
    try b.commit("DELETE FROM person WHERE id = 5")
    try meetTwice(a, b)
    try all[2].pull(from: a)
    for device in all {
      #expect(try device.column("SELECT count(*) FROM item") == [other == "7" ? "0" : "1"])
    }
    try expectSame(all)
    try b.commit("INSERT INTO person VALUES (5)")
    try meetTwice(a, b)
    try all[2].pull(from: a)
    for device in all { #expect(try device.column("SELECT person FROM item") == ["5"]) }
    try expectSame(all)
  }

  @Test func `a row that is too large to travel keeps what it refers to`() throws {
    let all = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, title, person TEXT REFERENCES person ON DELETE SET NULL)
      """, ["person", "item"])
    let (a, b) = (all[0], all[1])
    try a.commit("INSERT INTO person VALUES ('p')")
    try b.pull(from: a)
    try a.commit("INSERT INTO item VALUES ('i', hex(zeroblob(8 << 20)), 'p')")
    try b.commit("DELETE FROM person")
    try meetTwice(a, b)
    #expect(try a.column("SELECT ifnull(person, '-') FROM item") == ["-"])
    try a.store.seal()
    try b.commit("INSERT INTO person VALUES ('q')")
    try meetTwice(a, b)
    try b.commit("INSERT INTO person VALUES ('p')")
    try meetTwice(a, b)
    #expect(try a.column("SELECT person FROM item") == ["p"])
  }

  @Test func `a second parent goes while the table refuses what the state has of the first`() throws
  {
    let all = try devices(
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, person TEXT REFERENCES person ON DELETE SET NULL,
        other TEXT REFERENCES person ON DELETE SET NULL, n, CHECK (person IS NULL OR n = 1))
      """, ["person", "item"])
    let (a, b) = (all[0], all[1])
    try a.commit("INSERT INTO person VALUES ('p'), ('q')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('i', 'p', NULL, 1)")
    try b.commit("DELETE FROM person WHERE id = 'p'")
    try meetTwice(a, b)
    try a.commit("UPDATE item SET n = 2, other = 'q'")
    try b.commit("DELETE FROM person WHERE id = 'q'")
    try meetTwice(a, b)
    try all[2].load(Parts(of: a))
    for device in all { #expect(try device.column("SELECT n FROM item") == ["2"]) }
    try expectSame(all)
  }
}
