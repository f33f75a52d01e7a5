import GRDB
import Tern
import TestDevice
import Testing

@Suite("Settlement: rows without their deleted parents")
struct VeilTests {
  private func expectLines(_ lines: [String], _ devices: Device...) throws {
    for device in devices {
      #expect(try device.itemLines == lines)
      #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try device.store.counts().quarantined == 0)
      #expect(try device.database.read { try DatabaseDiagnosis($0).findings }.isEmpty)
    }
  }

  @Test(arguments: [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `an item is shown without its person, and with them when they come back`(
    _ deletes: DeleteRule
  ) throws {
    let (a, b) = try VeiledItems.met(deletes)
    try expectLines(["milk Milk -"], a, b)
    #expect(try a.column("SELECT id FROM note") == ["n"])
    for device in [a, b] { #expect(try device.listedEntries == ["veiled item ['milk']"]) }
    let operations = try a.store.counts().operations
    try meetTwice(a, b)
    #expect(try a.store.counts().operations == operations)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["milk Milk ben"], a, b)
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
    // And goes again, now as a write of who deletes them.
    try b.commit("DELETE FROM person WHERE id = 'ben'")
    try meetTwice(a, b)
    try expectLines(["milk Milk -"], a, b)
    #expect(try a.inbox.isEmpty)
  }

  @Test(arguments: [
    "UPDATE item SET title = 'M'", "UPDATE item SET title = 'M', person = person",
    "REPLACE INTO item SELECT id, 'M', rank, person FROM item",
    "DELETE FROM item; INSERT INTO item VALUES ('milk', 'M', 'high', NULL)",
  ])
  func `saving the row with what it shows is no write of the reference`(_ sql: String) throws {
    let (a, b) = try VeiledItems.met()
    for device in [a, b] { try device.execute("PRAGMA foreign_keys = OFF") }
    try a.commit(sql)
    for device in [a, b] { try device.execute("PRAGMA foreign_keys = ON") }
    try meetTwice(a, b)
    try expectLines(["milk M -"], a, b)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["milk M ben"], a, b)
  }

  @Test(arguments: [
    "UPDATE item SET id = 'tea'", "UPDATE item SET id = 'tea', title = 'Milk', rank = 'high'",
    "UPDATE item SET id = 'x', rank = 'low'; UPDATE item SET id = 'tea', rank = 'high'",
    "UPDATE item SET rank = 'low'; UPDATE item SET id = 'tea', rank = 'high'",
    "UPDATE item SET id = 'tea'; UPDATE item SET title = title || '!', person = NULL",
  ])
  func `under another key the row holds what it does not show`(_ sql: String) throws {
    let (a, b) = try VeiledItems.met()
    // A row that has children keeps its key.
    try a.commit("DELETE FROM note")
    try a.commit(sql)
    let title = try #require(a.column("SELECT title FROM item")[0])
    try expectLines(["tea \(title) -"], a)
    try b.pull(from: a)
    try expectLines(["tea \(title) -"], b)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["tea \(title) ben"], a, b)
  }

  @Test(arguments: [
    (
      """
      UPDATE item SET id = '4' WHERE id = '3'; UPDATE item SET id = '3' WHERE id = '2';
      UPDATE item SET id = '2' WHERE id = '1'
      """, ["2 one -", "3 two ben", "4 three ann"]
    ),
    (
      """
      UPDATE item SET id = '4' WHERE id = '3'; UPDATE item SET id = '3' WHERE id = '1';
      UPDATE item SET id = '5' WHERE id = '3'; UPDATE item SET id = '3' WHERE id = '2'
      """, ["3 two ben", "4 three ann", "5 one -"]
    ),
    (
      """
      UPDATE item SET id = '4' WHERE id = '2'; INSERT INTO item (id, title) VALUES ('2', 'new');
      UPDATE OR REPLACE item SET id = '1' WHERE id = '3'
      """, ["1 three ann", "2 new -", "4 two ben"]
    ),
  ])
  func `rows that take each other's keys hold what they held`(_ sql: String, _ lines: [String])
    throws
  {
    let (a, b) = try VeiledItems.pair()
    try a.commit(
      """
      INSERT INTO item (id, title, person)
      VALUES ('1', 'one', NULL), ('2', 'two', 'ben'), ('3', 'three', 'ann')
      """)
    try b.commit("DELETE FROM person")
    try meetTwice(a, b)
    try a.commit(sql)
    try meetTwice(a, b)
    try b.commit("INSERT INTO person VALUES ('ann', 'A'), ('ben', 'B')")
    try meetTwice(a, b)
    try expectLines(lines, a, b)
    try expectEqual(a, b, "item")
  }

  @Test(arguments: [
    ("UPDATE item SET id = 'tea', person = 'ann'", "ann"),
    ("UPDATE item SET id = 'tea'; UPDATE item SET person = 'ann'", "ann"),
    ("DELETE FROM item; INSERT INTO item VALUES ('tea', 'Milk', 'high', NULL)", "-"),
  ])
  func `under another key a write is one`(_ sql: String, _ person: String) throws {
    let (a, b) = try VeiledItems.met()
    try a.commit("DELETE FROM note")
    try a.commit(sql)
    try b.pull(from: a)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["tea Milk \(person)"], a, b)
  }

  @Test func `another person is a write, which lifts the veil`() throws {
    let (a, b) = try VeiledItems.met()
    try a.commit("UPDATE item SET person = 'ann'")
    try meetTwice(a, b)
    try expectLines(["milk Milk ann"], a, b)
    #expect(try a.inbox.isEmpty && b.inbox.isEmpty)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["milk Milk ann"], a, b)
  }

  @Test func `a write that comes lifts the veil, or is veiled too`() throws {
    let (a, b) = try VeiledItems.met()
    try b.commit("INSERT INTO person VALUES ('eve', 'Eve'); UPDATE item SET person = 'eve'")
    try a.pull(from: b)
    try expectLines(["milk Milk eve"], a)
    let (c, d) = try VeiledItems.met()
    try c.commit("UPDATE item SET person = 'ann'")
    try d.commit("DELETE FROM person WHERE id = 'ann'")
    try meetTwice(c, d)
    try expectLines(["milk Milk -"], c, d)
    try d.commit("INSERT INTO person VALUES ('ann', 'Ann again')")
    try meetTwice(c, d)
    try expectLines(["milk Milk ann"], c, d)
  }

  @Test(arguments: [DeleteRule.updateWins, .lastWriter])
  func `a deleted row that comes back has the person that it had`(_ deletes: DeleteRule) throws {
    let (a, b) = try VeiledItems.met(deletes)
    try a.commit("DELETE FROM item")
    try delay(b, after: a)
    try b.commit("UPDATE item SET title = 'M'")
    try meetTwice(a, b)
    try expectLines(["milk M -"], a, b)
    try b.commit(VeiledItems.comeBack)
    try meetTwice(a, b)
    try expectLines(["milk M ben"], a, b)
  }

  @Test func `a newcomer has the same, from a snapshot and from the log`() throws {
    let (a, b) = try VeiledItems.met()
    let snapshot = try Device(
      DatabaseQueue(), VeiledItems.schema(), id: 3, migrator: .steps([VeiledItems.creation]))
    try snapshot.load(Parts(of: b))
    let log = try Device(
      DatabaseQueue(), VeiledItems.schema(), id: 4, migrator: .steps([VeiledItems.creation]))
    try log.pull(from: a)
    try expectLines(["milk Milk -"], snapshot, log)
    try b.commit(VeiledItems.comeBack)
    for device in [snapshot, log] { try device.pull(from: b) }
    try expectLines(["milk Milk ben"], snapshot, log)
    #expect(try snapshot.store.canonicalState() == log.store.canonicalState())
  }

  @Test func `a parent that is quarantined veils nothing`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: ["person", "item"].map { SyncTable($0) }),
      """
      CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, title TEXT, person TEXT REFERENCES person ON DELETE SET NULL)
      """)
    try a.commit("INSERT INTO person VALUES ('1', 'Ann')")
    try delay(b, after: a)
    try b.commit("INSERT INTO person VALUES ('2', 'Ann'); INSERT INTO item VALUES ('i', 'I', '2')")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.itemLines.isEmpty)
      #expect(try device.listedEntries == ["displaced person ['2']", "parentMissing item ['i']"])
    }
    try a.commit("DELETE FROM person WHERE id = '1'")
    try meetTwice(a, b)
    try expectLines(["i I 2"], a, b)
  }

  @Test func `a default that is taken leaves its place to who wrote it`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: ["list", "item"].map { SyncTable($0) }),
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, place, list TEXT DEFAULT 'inbox'
        REFERENCES list ON DELETE SET DEFAULT, UNIQUE (list, place))
      """)
    try a.commit("INSERT INTO list VALUES ('inbox'), ('l')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO item VALUES ('first', 1, 'l'), ('free', 2, 'l')")
    try delay(b, after: a)
    try b.commit("DELETE FROM list WHERE id = 'l'; INSERT INTO item VALUES ('second', 1, 'inbox')")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id || ' ' || list FROM item ORDER BY id")
          == ["free inbox", "second inbox"])
      #expect(try device.listedEntries == ["veiled item ['free']", "displaced item ['first']"])
    }
    try b.commit("INSERT INTO list VALUES ('l')")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(
        try device.column("SELECT id || ' ' || list FROM item ORDER BY id")
          == ["first l", "free l", "second inbox"])
    }
  }

  @Test(arguments: [
    // The table refuses it; the key says which; another reference says it too; no one value.
    ("item TEXT NOT NULL REFERENCES list ON DELETE SET NULL", "id"),
    ("item TEXT REFERENCES list ON DELETE SET NULL CHECK (item IS NOT NULL)", "id"),
    ("item TEXT NOT NULL REFERENCES list ON DELETE SET NULL", "id, item"),
    (
      "item TEXT REFERENCES list ON DELETE SET NULL REFERENCES other ON DELETE SET NULL", "id"
    ),
    (
      "item TEXT DEFAULT (hex(randomblob(4))) REFERENCES list ON DELETE SET DEFAULT", "id"
    ),
    ("item TEXT DEFAULT 'gone' REFERENCES list ON DELETE SET DEFAULT", "id"),
  ])
  func `a row that cannot be without its parent is quarantined`(_ column: String, _ key: String)
    throws
  {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: ["list", "other", "part"].map { SyncTable($0) }),
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE part (id TEXT NOT NULL, \(column), PRIMARY KEY (\(key)))
      """)
    try a.commit("INSERT INTO list VALUES ('l'); INSERT INTO other VALUES ('l')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO part VALUES ('p', 'l')")
    try b.commit("DELETE FROM list")
    try meetTwice(a, b)
    for device in [a, b] {
      #expect(try device.rows("SELECT * FROM part").isEmpty)
      #expect(try device.inbox.map(\.kind) == [.orphaned])
    }
    try b.commit("INSERT INTO list VALUES ('l')")
    try meetTwice(a, b)
    for device in [a, b] { #expect(try device.column("SELECT item FROM part") == ["l"]) }
  }

  @Test func `a reference of several columns is veiled and written whole`() throws {
    let (a, b) = try Device.pair(
      SyncSchema(version: 1, tables: ["list", "part"].map { SyncTable($0) }),
      """
      CREATE TABLE list (home TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (home, name));
      CREATE TABLE part (
        id TEXT NOT NULL PRIMARY KEY, home TEXT, list TEXT,
        FOREIGN KEY (home, list) REFERENCES list ON DELETE SET NULL)
      """)
    try a.commit("INSERT INTO list VALUES ('h', 'l'), ('h', 'm')")
    try meetTwice(a, b)
    try a.commit("INSERT INTO part VALUES ('p', 'h', 'l'), ('q', 'h', 'l')")
    try b.commit("DELETE FROM list WHERE name = 'l'")
    try meetTwice(a, b)
    func parts(_ device: Device) throws -> [String?] {
      try device.column(
        "SELECT id || ' ' || ifnull(home, '-') || ' ' || ifnull(list, '-') FROM part ORDER BY id")
    }
    #expect(try parts(a) == ["p - -", "q - -"] && parts(b) == parts(a))
    try a.commit("UPDATE part SET home = 'h' WHERE id = 'q'")
    try b.commit("INSERT INTO list VALUES ('h', 'l')")
    try meetTwice(a, b)
    #expect(try parts(a) == ["p h l", "q h -"] && parts(b) == parts(a))
  }
}
