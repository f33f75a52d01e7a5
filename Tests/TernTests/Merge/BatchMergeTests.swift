import Foundation
import GRDB
import Tern
import TestDevice
import Testing

/// Many rows are written with one statement; what comes of it is what one by one comes to.
@Suite("Merge: many rows in one statement")
struct BatchMergeTests {
  private static let schema = SyncSchema(version: 1, tables: [SyncTable("item")])
  private static let count = 100

  private func device(
    _ id: UInt64, table: String = "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, a, b)"
  ) throws -> Device {
    try Device(Self.schema, id: id) { try $0.execute(sql: table) }
  }

  /// One operation with rows `r0` to `r99`, of which `a` is the number.
  private func insertMany(_ device: Device) throws {
    try device.database.write { db in
      for index in 0..<Self.count {
        try db.execute(
          sql: "INSERT INTO item (id, a) VALUES (?, ?)", arguments: ["r\(index)", index])
      }
    }
    try device.store.seal()
  }

  @Test func `new rows among which some stand here already`() throws {
    let (a, b) = (try device(1), try device(2))
    try insertMany(a)
    for key in ["r3", "r40", "r41", "r99"] {
      try b.execute("INSERT INTO item (id, a, b) VALUES (?, 'other', 1)", [key])
    }
    let summary = try b.pull(from: a)
    #expect(summary.conflicts[.sameKey] == 4)
    try a.pull(from: b)
    try expectEqual(a, b, "item")
    #expect(try b.rows("SELECT 1 FROM item").count == Self.count)
    #expect(try b.rows("SELECT 1 FROM item WHERE a = 'other'").count == 4)
    #expect(try b.rows("SELECT 1 FROM item WHERE a = substr(id, 2) + 0").count == Self.count - 4)
  }

  @Test func `new rows of which the table refuses one`() throws {
    let a = try device(1)
    let b = try device(
      2, table: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, a CHECK (a <> 50), b)")
    try insertMany(a)
    try b.pull(from: a)
    #expect(try b.store.counts().quarantined == 1)
    #expect(try b.rows("SELECT 1 FROM item").count == Self.count - 1)
    try a.execute("UPDATE item SET a = 51 WHERE id = 'r50'")
    try b.pull(from: a)
    #expect(try b.store.counts().quarantined == 0)
    try expectEqual(a, b, "item")
  }

  @Test func `new rows of which two want the same place`() throws {
    let table = "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, a UNIQUE, b)"
    let (a, b, c) = (
      try device(1, table: table), try device(2, table: table), try device(3, table: table)
    )
    try insertMany(a)
    try b.execute("INSERT INTO item (id, a) VALUES ('else', 70)")
    try b.store.seal()
    for device in [a, b, c] {
      try device.pull(from: a)
      try device.pull(from: b)
    }
    try expectEqual(a, b, "item")
    try expectEqual(a, c, "item")
    #expect(try c.store.counts().quarantined == 1)
  }

  @Test func `rows with triggers of the app beside`() throws {
    let (a, b) = (try device(1), try device(2))
    try b.execute("CREATE TABLE log (id)")
    try b.execute(
      "CREATE TRIGGER t AFTER INSERT ON item BEGIN INSERT INTO log VALUES (NEW.id); END")
    try insertMany(a)
    try b.pull(from: a)
    try expectEqual(a, b, "item")
    #expect(try b.rows("SELECT 1 FROM log").count == Self.count)
  }

  /// Nobody honest writes that; the first stands, whether both are in one statement or not.
  @Test(arguments: [1, 10, 31, 32, 33, 64, 99])
  func `an operation that brings a row twice`(_ distance: Int) throws {
    var forger = Forger()
    let operation = forger.write { body in
      body.append(
        block: BodyBlock(
          table: "item", keyColumns: ["id"],
          columns: [.init(name: "a", rule: 0), .init(name: "b", rule: 0)]))
      for index in 0..<Self.count {
        let key = index == distance ? 0 : index
        body.append(row: .insert, life: 1)
        body.append(raw: Forger.packed(.string("r\(key)"), .integer(Int64(index)), .null))
      }
      body.appendEndOfBlock()
    }
    let b = try device(2)
    try b.merge([operation])
    #expect(try b.rows("SELECT a FROM item WHERE id = 'r0'") == [[0.databaseValue]])
    #expect(try b.rows("SELECT 1 FROM item").count == Self.count - 1)
  }

  @Test(arguments: [1, 20, 40])
  func `a burst that writes a row again before its state is stored`(_ distance: Int) throws {
    let (a, b) = (try device(1), try device(2))
    try a.database.write { db in
      for index in 0..<Self.count {
        try db.execute(
          sql: "INSERT INTO item (id, a) VALUES (?, ?)", arguments: ["r\(index)", index])
        if index >= distance {
          try db.execute(
            sql: "UPDATE item SET b = ? WHERE id = ?", arguments: [index, "r\(index - distance)"])
        }
      }
      try db.execute(sql: "DELETE FROM item WHERE id = 'r98'")
      try db.execute(sql: "INSERT INTO item (id, a) VALUES ('r98', 'again')")
    }
    try b.pull(from: a)
    try expectEqual(a, b, "item")
    #expect(try b.rows("SELECT a FROM item WHERE id = 'r98'") == [["again".databaseValue]])
    try a.execute("UPDATE item SET a = a || 'x', b = b")
    try a.execute("UPDATE item SET b = 7")
    try b.pull(from: a)
    try expectEqual(a, b, "item")
    // Sealing again what is sealed finds nothing.
    #expect(try a.store.seal().isEmpty)
  }

  @Test func `rows of a wide key and large values go through the same batch`() throws {
    let table =
      "CREATE TABLE item (x NOT NULL, y BLOB NOT NULL, id TEXT NOT NULL, a, PRIMARY KEY (id, x, y))"
    let (a, b) = (try device(1, table: table), try device(2, table: table))
    for round in 1...2 {
      try a.database.write { db in
        for index in 0..<Self.count {
          try db.execute(
            sql: "REPLACE INTO item VALUES (?, ?, ?, ?)",
            arguments: [
              index % 7, Data(repeating: UInt8(index), count: index * 9),
              String(repeating: "k", count: index % 5 == 0 ? 9000 : index),
              String(repeating: "v", count: index == 50 ? 40_000 : round),
            ])
        }
      }
      try b.pull(from: a)
      try expectEqual(a, b, "item")
    }
    #expect(try b.rows("SELECT 1 FROM item WHERE length(a) = 2").count == Self.count - 1)
  }
}
