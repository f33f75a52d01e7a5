import Foundation
import GRDB
import Tern
import TestDevice
import Testing

@Suite("Rekey: triggers of the app that insert rows")
struct RekeyTriggerTests {
  private static let creation = """
    CREATE TABLE book (title TEXT, id INTEGER PRIMARY KEY, upper AS (upper(title)));
    CREATE TABLE scan (title TEXT)
    """

  private func trigger(_ insert: String) -> String {
    "CREATE TRIGGER scanned AFTER INSERT ON scan BEGIN SELECT 1; \(insert); END"
  }

  @Test(arguments: [
    "INSERT INTO book (title) VALUES (NEW.title)", "INSERT OR IGNORE INTO BOOK(title) VALUES (1)",
    "REPLACE INTO \"book\" VALUES (NEW.title, NULL)",
    "INSERT INTO book (title, [ID]) VALUES (1, (2)), (max(3, 4), null) ON CONFLICT DO NOTHING",
    "INSERT INTO book SELECT coalesce(NEW.title, 'x'), NULL FROM scan",
  ])
  func `one that leaves the key to SQLite is refused by its name, and nothing changes`(
    _ insert: String
  ) throws {
    for kind in ["", "TEMP "] {
      let database = try queue(Self.creation)
      try database.write {
        try $0.execute(sql: trigger(insert).replacing("CREATE ", with: "CREATE \(kind)"))
      }
      let before = try database.dump()
      let error = try database.write { db in
        #expect(throws: RekeyError.self) { try db.rekeyForSync("book") }
      }
      #expect(error?.code == .keylessTrigger)
      #expect(
        error?.description.contains("column “id” of table “book”: the trigger “scanned”") == true)
      #expect(try database.dump() == before)
    }
  }

  @Test(arguments: [
    "INSERT INTO book (id, title) VALUES (NEW.rowid, NEW.title)",
    "INSERT INTO book VALUES (NULL, NEW.rowid)",
    "INSERT INTO book (title, id) SELECT NULL, coalesce(NULL, 'x') FROM scan",
    "INSERT INTO scan (title) VALUES (NULL)", "UPDATE book SET title = NULL",
    "DELETE FROM book WHERE id IS NULL",
  ])
  func `one that brings a key stays, and so does one that inserts elsewhere`(_ statement: String)
    throws
  {
    let database = try queue(Self.creation)
    try database.write { db in
      try db.execute(sql: trigger(statement))
      try db.rekeyForSync("book")
      try db.execute(sql: "INSERT INTO scan VALUES ('Dune')")
    }
    #expect(try database.declaration("scanned")?.contains(statement) == true)
  }

  @Test func `what is refused would fail the app's own write`() throws {
    let database = try queue(Self.creation)
    try database.write { db in
      try db.rekeyForSync("book")
      try db.execute(sql: trigger("INSERT INTO book (title) VALUES (NEW.title)"))
    }
    let error = #expect(throws: DatabaseError.self) {
      try database.write { try $0.execute(sql: "INSERT INTO scan VALUES ('Dune')") }
    }
    #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_NOTNULL)
  }

  @Test(arguments: [RekeyStorage.uppercaseText, .lowercaseText, .blob])
  func `one that is made again with a key inserts rows that sync`(_ storage: RekeyStorage) throws {
    let database = try queue(Self.creation)
    try database.write { db in
      try db.rekeyForSync("book", storage: storage)
      try db.execute(
        sql: trigger("INSERT INTO book (id, title) VALUES (\(storage.newKeySQL), NEW.title)"))
    }
    let schema = SyncSchema(version: 1, tables: [SyncTable("book")])
    let a = try Device(database, schema, id: 1)
    for _ in 0..<50 { try a.execute("INSERT INTO scan VALUES ('Dune')") }
    let keys = try database.read { try DatabaseValue.fetchAll($0, sql: "SELECT id FROM book") }
    #expect(Set(keys).count == 50)
    for key in keys {
      let identifier = try #require(UUID.fromDatabaseValue(key))
      switch storage {
      case .blob: break
      case .lowercaseText: #expect(key == identifier.uuidString.lowercased().databaseValue)
      default: #expect(key == identifier.uuidString.databaseValue)
      }
      if storage != .blob {
        #expect(identifier.uuid.6 >> 4 == 4)
        #expect(identifier.uuid.8 >> 6 == 2)
      }
    }
    let b = try Device(schema, id: 2) { db in
      try db.execute(sql: Self.creation)
      try db.rekeyForSync("book", storage: storage)
    }
    try b.pull(from: a)
    try expectEqual(a, b, "book")
  }
}
