import GRDB
import Tern
import TestDevice
import Testing

private let creation = """
  CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, isbn TEXT UNIQUE,
    shelf TEXT REFERENCES shelf, pages INTEGER CHECK (pages > 0));
  CREATE TABLE loan (id TEXT NOT NULL PRIMARY KEY, book TEXT REFERENCES book ON DELETE SET NULL);
  CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, above TEXT REFERENCES note);
  """
private let tables = ["shelf", "book", "loan", "note"]
private let schema = SyncSchema(version: 1, tables: tables.map { SyncTable($0) })

/// A merge writes rows first, and its settlement looks for those that cannot stand: what an app's
/// triggers and observers see of that is counted here (Docs/Design/0073).
@Suite("Settlement: how often a row is written")
struct WriteCountTests {
  private let a: Device
  private let b: Device
  /// Counts what is written to its tables.
  private let reader: Device

  init() throws {
    (a, b) = try Device.pair(schema, creation)
    reader = try Device(schema, id: 3) { db in
      try db.execute(sql: creation + "CREATE TABLE written (line TEXT NOT NULL);")
      for table in tables {
        for (kind, row) in [("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")] {
          try db.execute(
            sql: """
              CREATE TRIGGER \(table)_\(kind) AFTER \(kind) ON \(table) BEGIN
                INSERT INTO written VALUES ('\(kind) \(table) ' || \(row).id); END
              """)
        }
      }
    }
  }

  /// What one merge of all that another device has writes, in order of the words.
  @discardableResult
  private func written(from device: Device) throws -> [String] {
    try reader.pull(from: device)
    let lines = try reader.column("SELECT line FROM written ORDER BY line")
    try reader.execute("DELETE FROM written")
    return lines.compactMap(\.self)
  }

  @Test func `new rows once each, whichever comes first of those that refer to each other`() throws
  {
    let keys = (10..<60).map { "n\($0)" }
    // A row above another has the greater key, and is merged after it.
    try a.execute("INSERT INTO note VALUES ('\(keys.last!)', NULL)")
    for (key, above) in zip(keys, keys.dropFirst()).reversed() {
      try a.execute("INSERT INTO note VALUES ('\(key)', '\(above)')")
    }
    #expect(try written(from: a) == keys.map { "INSERT note \($0)" })
    #expect(try written(from: a) == [])
  }

  @Test func `what collides once each, and nothing that keeps out or waits`() throws {
    try a.commit("INSERT INTO book (id, isbn) VALUES ('first', '978'), ('other', '979')")
    try delay(b, after: a)
    try b.commit("INSERT INTO book (id, isbn) VALUES ('second', '978')")
    #expect(try written(from: b) == ["INSERT book second"])
    let lines = try written(from: a)
    #expect(lines == ["DELETE book second", "INSERT book first", "INSERT book other"])
    let c = try Device(schema, id: 4) { try $0.execute(sql: creation) }
    try delay(c, after: b)
    try c.commit("INSERT INTO book (id, isbn) VALUES ('third', '978'), ('free', '980')")
    #expect(try written(from: c) == ["INSERT book free"])
  }

  @Test func `what goes and comes back with its parent once each time`() throws {
    try a.execute("INSERT INTO shelf VALUES ('s', 'fiction')")
    try a.execute("INSERT INTO book (id, shelf) VALUES ('1', 's'), ('2', 's')")
    for device in [b, reader] { try device.pull(from: a) }
    try reader.execute("DELETE FROM written")
    try a.commit("DELETE FROM book; DELETE FROM shelf")
    try b.commit("INSERT INTO book (id, shelf) VALUES ('3', 's'), ('4', 's')")
    #expect(
      try written(from: b) == ["INSERT book 3", "INSERT book 4"])
    #expect(
      try written(from: a)
        == ["1", "2", "3", "4"].map { "DELETE book \($0)" } + ["DELETE shelf s"])
    try a.commit("INSERT INTO shelf VALUES ('s', 'fiction'), ('t', 'essays')")
    let back = ["INSERT book 3", "INSERT book 4", "INSERT shelf s", "INSERT shelf t"]
    #expect(try written(from: a) == back)
  }

  @Test func `one that the page itself, or an earlier one, takes out is written twice`() throws {
    try a.commit("INSERT INTO book (id, isbn) VALUES ('first', '978')")
    try delay(b, after: a)
    try b.commit("INSERT INTO book (id, isbn) VALUES ('second', '978')")
    // What b has of others stands behind its own in the page.
    try b.pull(from: a)
    let collided = ["DELETE book second", "INSERT book first", "INSERT book second"]
    #expect(try written(from: b) == collided)
    try a.execute("INSERT INTO shelf VALUES ('s', 'fiction'); INSERT INTO book (id) VALUES ('l')")
    for device in [b, reader] { try device.pull(from: a) }
    try reader.execute("DELETE FROM written")
    try b.commit("INSERT INTO book (id, shelf) VALUES ('1', 's')")
    try b.commit("INSERT INTO loan VALUES ('l', 'l')")
    try a.commit("DELETE FROM book WHERE id = 'l'; DELETE FROM shelf")
    try b.pull(from: a)
    #expect(
      try written(from: b) == [
        "DELETE book 1", "DELETE book l", "DELETE shelf s", "INSERT book 1", "INSERT loan l",
        "UPDATE loan l",
      ])
  }

  @Test func `one whose parent was deleted before it came is taken back, and then waits`() throws {
    try a.execute("INSERT INTO shelf VALUES ('s', 'fiction')")
    for device in [b, reader] { try device.pull(from: a) }
    try a.commit("DELETE FROM shelf")
    try b.commit("INSERT INTO book (id, shelf) VALUES ('1', 's')")
    try reader.pull(from: a)
    try reader.execute("DELETE FROM written")
    #expect(try written(from: b) == ["DELETE book 1", "INSERT book 1"])
    // From then on it waits.
    try b.commit("INSERT INTO book (id) VALUES ('2')")
    #expect(try written(from: b) == ["INSERT book 2"])
  }

  @Test func `a loser's children go with it, each once`() throws {
    try a.commit("INSERT INTO shelf VALUES ('first', 'fiction')")
    try delay(b, after: a)
    try b.commit("INSERT INTO shelf VALUES ('second', 'fiction')")
    try b.commit("INSERT INTO book (id, shelf) VALUES ('1', 'second'), ('2', 'second')")
    try written(from: b)
    #expect(
      try written(from: a)
        == ["DELETE book 1", "DELETE book 2", "DELETE shelf second", "INSERT shelf first"])
  }

  @Test func `a reference to a deleted row is taken away by one update`() throws {
    try a.execute("INSERT INTO book (id) VALUES ('1'); INSERT INTO loan VALUES ('l', '1')")
    for device in [b, reader] { try device.pull(from: a) }
    try reader.execute("DELETE FROM written")
    try b.commit("INSERT INTO loan VALUES ('m', '1')")
    try a.commit("DELETE FROM book")
    #expect(try written(from: b) == ["INSERT loan m"])
    #expect(try written(from: a) == ["DELETE book 1", "UPDATE loan l", "UPDATE loan m"])
    #expect(try written(from: a) == [])
  }
}
