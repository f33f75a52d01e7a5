import GRDB
import Tern
import TestDevice
import TestProcesses
import Testing

/// SQLite leaves children whose parent a statement deletes; a replica shows them without it, or quarantines them, as
/// others do.
@Suite("Merge: children that a delete leaves")
struct LeftChildTests {
  private let schema = SyncSchema(version: 1, tables: [SyncTable("shelf")])
  private let creation = creation(of: "TEXT")

  private static func creation(of type: String) -> String {
    """
    CREATE TABLE shelf (
      id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE,
      up \(type) REFERENCES shelf ON DELETE SET NULL)
    """
  }

  private func pair(_ type: String) throws -> (Device, Device) {
    try Device.pair(schema, Self.creation(of: type))
  }

  /// A connection of another program, whose foreign keys are off.
  private func loose(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    return try DatabaseQueue(path: path, configuration: configuration)
  }

  @Test(arguments: [
    ("TEXT", "UPDATE OR REPLACE shelf SET code = 'n' WHERE id = '2'", true),
    // No key says for sure which row the number means.
    ("", "UPDATE shelf SET up = 1 WHERE id = '2'; DELETE FROM shelf WHERE id = '1'", false),
    (
      "TEXT",
      """
      PRAGMA foreign_keys = OFF; DELETE FROM shelf WHERE id = '1'; PRAGMA foreign_keys = ON
      """, true
    ),
  ])
  func `INV-01: are without their parent with its delete, and have it back when it comes`(
    _ type: String, _ statements: String, _ isListed: Bool
  ) throws {
    let (a, b) = try pair(type)
    try a.commit("INSERT INTO shelf VALUES ('1', 'n', NULL), ('2', 'm', '1'), ('3', 'o', NULL)")
    try b.pull(from: a)
    // Outside of a transaction, where the pragma counts.
    try a.database.writeWithoutTransaction { try $0.execute(sql: statements) }
    try a.store.seal()
    #expect(try a.rows("PRAGMA foreign_key_check").isEmpty)
    #expect(
      try a.database.read { try a.replica.inbox(of: [.orphaned, .veiled], in: $0).map(\.kind) }
        == (isListed ? [.veiled] : []))
    try b.pull(from: a)
    func id(_ text: String) -> [DatabaseValue] { [text.databaseValue] }
    let left = isListed ? ["2", "3"] : ["3"]
    for device in [a, b] {
      #expect(try device.rows("SELECT id FROM shelf ORDER BY id") == left.map { id($0) })
    }
    try a.commit("INSERT INTO shelf VALUES ('1', NULL, NULL)")
    try b.pull(from: a)
    for device in [a, b] {
      #expect(
        try device.rows("SELECT id FROM shelf ORDER BY id") == ["1", "2", "3"].map { id($0) })
      #expect(try device.column("SELECT up FROM shelf WHERE id = '2'") == ["1"])
    }
  }

  @Test(arguments: [
    ("TEXT", "UPDATE OR REPLACE shelf SET code = 'n' WHERE id = '2'"),
    ("", "UPDATE shelf SET up = 1 WHERE id = '2'; DELETE FROM shelf WHERE id = '1'"),
  ])
  func `INV-01: are quarantined where nobody was told of their parent`(
    _ type: String, _ statements: String
  ) throws {
    let (a, b) = try pair(type)
    try a.commit(
      "INSERT INTO shelf VALUES ('1', 'n', NULL), ('2', 'm', '1'), ('3', 'o', NULL); \(statements)")
    try b.pull(from: a)
    for device in [a, b] {
      #expect(try device.column("SELECT id FROM shelf") == ["3"])
    }
    try expectEqual(a, b, "shelf")
  }

  @Test(arguments: [
    ("INSERT INTO shelf VALUES ('2', 'm', 'none')", InboxKind.parentMissing),
    ("UPDATE shelf SET up = 'none' WHERE id = '3'", .parentMissing),
    // What a reference to a deleted row declares is done for writers that have it off, too.
    ("UPDATE shelf SET up = 'gone' WHERE id = '3'", .veiled),
    ("INSERT INTO shelf VALUES ('2', 'm', '3'); DELETE FROM shelf WHERE id = '3'", .veiled),
  ])
  func `INV-01: that a writer without foreign keys makes are found at the seal`(
    _ statements: String, _ kind: InboxKind
  ) throws {
    for isOwn in [true, false] {
      try withTemporaryFolder { folder in
        let path = folder + "/app.sqlite"
        let database = try DatabasePool(path: path)
        let a = try Device(schema, id: 1, database: database) { try $0.execute(sql: creation) }
        let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
        try a.commit("INSERT INTO shelf VALUES ('3', 'o', NULL), ('gone', 'p', NULL)")
        try a.commit("DELETE FROM shelf WHERE id = 'gone'")
        if isOwn {
          try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            try db.execute(sql: statements)
            try db.execute(sql: "PRAGMA foreign_keys = ON")
          }
        } else {
          try loose(path).write { try $0.execute(sql: statements) }
        }
        try a.store.seal()
        try b.pull(from: a)
        for device in [a, b] {
          #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
          #expect(
            try device.database.read { try device.replica.inbox(in: $0).map(\.kind) } == [kind])
        }
        try expectEqual(a, b, "shelf")
        for id in ["none", "gone", "3"] {
          try b.commit("INSERT OR IGNORE INTO shelf VALUES ('\(id)', NULL, NULL)")
        }
        try a.pull(from: b)
        for device in [a, b] {
          #expect(try device.database.read { try device.replica.inbox(in: $0) }.isEmpty)
          #expect(try device.column("SELECT count(*) FROM shelf WHERE up IS NOT NULL") == ["1"])
        }
        try expectEqual(a, b, "shelf")
      }
    }
  }

  @Test func `INV-01: that stand in tables which begin to sync are found as they are opened`()
    throws
  {
    try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      try loose(path).write {
        try $0.execute(
          sql: "\(creation); INSERT INTO shelf VALUES ('2', 'm', 'none'), ('3', 'o', NULL)")
      }
      let a = try Device(DatabaseQueue(path: path), schema, id: 1)
      let b = try Device(schema, id: 2) { try $0.execute(sql: creation) }
      try b.pull(from: a)
      for device in [a, b] {
        #expect(try device.column("SELECT id FROM shelf") == ["3"])
        let entries = try device.database.read { try device.replica.inbox(in: $0) }
        #expect(entries.map(\.kind) == [.parentMissing] && entries[0].values["code"] == "m")
      }
      try expectEqual(a, b, "shelf")
    }
  }

  @Test(arguments: [true, false])
  func `in a transaction of the app's may get another parent, or the same one again`(
    _ isSame: Bool
  ) throws {
    let (a, b) = try pair("TEXT")
    try a.commit("INSERT INTO shelf VALUES ('1', 'n', NULL), ('2', 'm', '1'), ('3', 'o', NULL)")
    // As the `sqlite3` program does, whose foreign keys are off.
    try a.database.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.inTransaction {
        try db.execute(sql: "DELETE FROM shelf WHERE id = '1'")
        try a.replica.writeWithoutUndo(in: db) {
          try $0.execute(sql: "UPDATE shelf SET code = 'p' WHERE id = '3'")
        }
        try db.execute(
          sql: isSame
            ? "INSERT INTO shelf VALUES ('1', 'n', NULL)"
            : "UPDATE shelf SET up = '3' WHERE id = '2'")
        return .commit
      }
      try db.execute(sql: "PRAGMA foreign_keys = ON")
    }
    try a.store.seal()
    try b.pull(from: a)
    for device in [a, b] {
      #expect(
        try device.rows("SELECT up FROM shelf WHERE id = '2'")
          == [[(isSame ? "1" : "3").databaseValue]])
    }
    try expectEqual(a, b, "shelf")
  }

  @Test func `that the app has deferred are its own until it commits`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf"), SyncTable("book")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, shelf TEXT REFERENCES shelf)
      """)
    try a.commit("INSERT INTO shelf VALUES ('1'); INSERT INTO book VALUES ('b', '1')")
    try a.database.write { db in
      try db.execute(sql: "PRAGMA defer_foreign_keys = ON; DELETE FROM shelf")
      try a.replica.writeWithoutUndo(in: db) {
        try $0.execute(sql: "INSERT INTO shelf VALUES ('2')")
      }
      try db.execute(sql: "INSERT INTO shelf VALUES ('1')")
    }
    try a.store.seal()
    try b.pull(from: a)
    for device in [a, b] {
      #expect(try device.rows("SELECT shelf FROM book") == [["1".databaseValue]])
    }
    try expectEqual(a, b, "shelf", "book")
  }
}
