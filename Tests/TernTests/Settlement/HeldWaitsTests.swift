import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE room (id TEXT NOT NULL PRIMARY KEY);
  CREATE TABLE cabinet (id TEXT NOT NULL PRIMARY KEY, room TEXT REFERENCES room);
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE, cabinet TEXT REFERENCES cabinet);
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, isbn TEXT UNIQUE,
    shelf TEXT REFERENCES shelf ON DELETE CASCADE, pages INTEGER CHECK (pages > 0));
  CREATE TABLE tag (id TEXT NOT NULL PRIMARY KEY, u UNIQUE, v UNIQUE);
  CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, book TEXT REFERENCES book, above TEXT REFERENCES note);
  """
private let schema = SyncSchema(
  version: 1,
  tables: [
    SyncTable("room"), SyncTable("cabinet"), SyncTable("shelf"), SyncTable("book"),
    SyncTable("tag"), SyncTable("note"),
  ])

@Suite("Settlement: what quarantined rows wait for")
struct HeldWaitsTests {
  private func pair() throws -> (Device, Device) { try Device.pair(schema, creation) }

  private func device(_ id: UInt64) throws -> Device {
    try Device(schema, id: id) { try $0.execute(sql: creation) }
  }

  private func awake(_ device: Device) throws -> Int {
    try device.makeRareTables()
    return try device.database.read {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_main_unsettled_row")!
    }
  }

  private func expectSame(_ a: Device, _ b: Device) throws {
    for table in ["room", "cabinet", "shelf", "book", "tag", "note"] {
      #expect(
        try a.rows("SELECT * FROM \(table) ORDER BY id")
          == b.rows("SELECT * FROM \(table) ORDER BY id"))
    }
    #expect(try a.store.canonicalState() == b.store.canonicalState())
    for device in [a, b] {
      let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
      #expect(diagnosis.findings.filter { $0.check != "held" }.map { "\($0)" } == [])
    }
  }

  @Test func `rows that wait for what did not change sleep, and wake with what they wait for`()
    throws
  {
    let (a, b) = try pair()
    try a.execute("INSERT INTO shelf (id, name) VALUES ('gone', 'gone'), ('taken-a', 'taken')")
    try a.execute("INSERT INTO note (id) VALUES ('top'), ('n')")
    try meet(a, b)
    try a.execute("DELETE FROM shelf WHERE id = 'gone'; DELETE FROM note WHERE id = 'top'")
    try b.execute("INSERT INTO book (id, shelf) VALUES ('1', 'gone'), ('2', 'gone')")
    try b.execute("INSERT INTO note VALUES ('under', NULL, 'top'), ('further', NULL, 'under')")
    try a.execute("INSERT INTO book (id, isbn) VALUES ('a', '978')")
    try delay(b, after: a)
    try b.execute("INSERT INTO book (id, isbn) VALUES ('b', '978')")
    for _ in 0..<2 { try meet(a, b) }
    try expectSame(a, b)
    for device in [a, b] {
      #expect(try device.rows("SELECT * FROM grdb_tern_main_held").count == 5)
      #expect(try awake(device) == 0)
      try device.commit(
        "INSERT INTO book (id, isbn) VALUES ('other', '979'); DELETE FROM book WHERE id = 'other'")
      #expect(try awake(device) == 0)
    }
    try a.commit("INSERT INTO note (id) VALUES ('top')")
    try meet(a, b)
    try expectSame(a, b)
    #expect(try b.column("SELECT id FROM note ORDER BY id") == ["further", "n", "top", "under"])
  }

  @Test(arguments: [true, false])
  func `a row that kept another out and is inserted again elsewhere, later, yields`(_ isFirst: Bool)
    throws
  {
    let (a, b) = try pair()
    try a.commit("INSERT INTO book (id, isbn) VALUES ('winner', '978')")
    try delay(b, after: a)
    try b.commit("INSERT INTO book (id, isbn) VALUES ('loser', '978')")
    try meet(a, b)
    try meet(a, b)
    #expect(try a.column("SELECT id FROM book") == ["winner"])
    // A third device inserts the winner too, after the loser: its greatest insert counts.
    let c = try device(3)
    try delay(c, after: b)
    try c.commit("INSERT INTO book (id, isbn) VALUES ('winner', '978')")
    for device in isFirst ? [a, b] : [b, a] { try device.pull(from: c) }
    try c.pull(from: a)
    try meet(a, b)
    #expect(try a.column("SELECT id FROM book") == ["loser"])
    try expectSame(a, b)
    try expectSame(a, c)
  }

  @Test func `children of a parent that lost and sleeps compete as before`() throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO shelf (id, name) VALUES ('first', 'fiction')")
    try delay(b, after: a)
    try b.commit("INSERT INTO shelf (id, name) VALUES ('second', 'fiction')")
    try b.commit("INSERT INTO book (id, isbn, shelf) VALUES ('early', '978', 'second')")
    try meet(a, b)
    try meet(a, b)
    // Early is quarantined with its shelf, and has the place all the same.
    try delay(a, after: b)
    try a.commit("INSERT INTO book (id, isbn) VALUES ('late', '978')")
    for _ in 0..<2 { try meet(a, b) }
    try expectSame(a, b)
    #expect(try a.column("SELECT id FROM book") == [])
    try a.commit("UPDATE shelf SET name = 'essays' WHERE id = 'first'")
    for _ in 0..<2 { try meet(a, b) }
    try expectSame(a, b)
    #expect(try b.column("SELECT id FROM book") == ["early"])
    #expect(try b.column("SELECT id FROM shelf ORDER BY id") == ["first", "second"])
  }

  @Test(arguments: [
    "DELETE FROM book WHERE id = 'early'", "UPDATE book SET isbn = '979' WHERE id = 'early'",
  ])
  func `who lost to a row that is quarantined itself comes when that goes`(_ end: String) throws {
    let (a, b) = try pair()
    try a.commit("INSERT INTO shelf (id, name) VALUES ('first', 'fiction')")
    try delay(b, after: a)
    try b.commit("INSERT INTO shelf (id, name) VALUES ('second', 'fiction')")
    try b.commit("INSERT INTO book (id, isbn, shelf) VALUES ('early', '978', 'second')")
    let c = try device(3)
    try c.pull(from: b)
    try delay(a, after: b)
    try a.commit("INSERT INTO book (id, isbn) VALUES ('late', '978')")
    for _ in 0..<2 { try meet(a, b) }
    #expect(try a.column("SELECT id FROM book") == [])
    try c.commit(end)
    for device in [a, b] { try device.pull(from: c) }
    #expect(try a.column("SELECT id FROM book") == ["late"])
    try expectSame(a, b)
  }

  @Test func `a row that stands and falls with its parent makes room at once`() throws {
    let (a, b) = try pair()
    let c = try device(3)
    try a.commit("INSERT INTO shelf (id, name) VALUES ('s', 's')")
    try meet(a, b)
    try b.commit("INSERT INTO book (id, isbn, shelf) VALUES ('stands', '978', 's')")
    try delay(a, after: b)
    try a.commit("INSERT INTO book (id, isbn) VALUES ('waits', '978')")
    try meet(a, b)
    try c.pull(from: a)
    #expect(try b.column("SELECT id FROM book") == ["stands"])
    let d = try device(4)
    try d.pull(from: a)
    // Children of a parent that is deleted elsewhere meanwhile.
    try d.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    try d.commit("DELETE FROM shelf")
    for device in [a, b] {
      try device.pull(from: d)
      #expect(try device.column("SELECT id FROM book") == ["waits"])
    }
    try expectSame(a, b)
  }

  @Test func `a parent that lost falls with its own parent, and its children compete no longer`()
    throws
  {
    let (a, b) = try pair()
    try a.commit("INSERT INTO room VALUES ('g'); INSERT INTO cabinet VALUES ('x', 'g')")
    try a.commit("INSERT INTO shelf VALUES ('first', 'fiction', NULL)")
    try b.pull(from: a)
    let c = try device(3)
    try c.commit("INSERT INTO room VALUES ('g'); INSERT INTO cabinet VALUES ('x', 'g')")
    try delay(c, after: a)
    try c.commit("INSERT INTO shelf VALUES ('second', 'fiction', 'x')")
    try c.commit("INSERT INTO book (id, isbn, shelf) VALUES ('early', '978', 'second')")
    try delay(b, after: c)
    try b.commit("INSERT INTO book (id, isbn) VALUES ('late', '978')")
    for device in [a, b] { try device.pull(from: c) }
    try meet(a, b)
    #expect(try a.column("SELECT id FROM book") == [])
    let d = try device(4)
    try d.pull(from: a)
    try d.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = OFF") }
    try d.commit("DELETE FROM room")
    let all = try device(5)
    try all.pull(from: d)
    for device in [a, b, all] {
      try device.pull(from: d)
      #expect(try device.column("SELECT id FROM book") == ["late"])
    }
    try expectSame(a, b)
    try expectSame(a, all)
  }

  @Test func `who is taken out of the table makes room for those whom it alone kept out`() throws {
    let (a, b) = try pair()
    let c = try device(3)
    try c.commit("INSERT INTO tag VALUES ('x', 1, NULL)")
    try delay(a, after: c)
    try a.commit("INSERT INTO tag VALUES ('y', 1, 2)")
    try delay(b, after: a)
    try b.commit("INSERT INTO tag VALUES ('z', NULL, 2)")
    for _ in 0..<2 { try meet(a, b) }
    #expect(try b.column("SELECT id FROM tag") == ["y"])
    for device in [a, b] { try device.pull(from: c) }
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM tag ORDER BY id") == ["x", "z"])
    }
    try expectSame(a, b)
  }

  @Test func `who gave way makes room for the next of three, in one merge`() throws {
    let (a, b) = try pair()
    // One after the other: x keeps y out by its name, and y kept z out.
    let c = try device(3)
    try c.commit("INSERT INTO shelf (id, name) VALUES ('x', 'one')")
    try delay(a, after: c)
    try a.commit("INSERT INTO shelf (id, name) VALUES ('y', 'two')")
    try delay(b, after: a)
    try b.commit("INSERT INTO shelf (id, name) VALUES ('z', 'two')")
    try meet(a, b)
    try meet(a, b)
    #expect(try b.column("SELECT id FROM shelf") == ["y"])
    try a.commit("UPDATE shelf SET name = 'one' WHERE id = 'y'")
    try c.pull(from: a)
    try c.pull(from: b)
    try a.pull(from: c)
    try b.pull(from: c)
    for device in [a, b, c] {
      #expect(try device.column("SELECT id FROM shelf ORDER BY id") == ["x", "z"])
    }
    try expectSame(a, b)
    try expectSame(a, c)
  }
}
