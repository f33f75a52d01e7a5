import GRDB
import TestDevice
import Testing

@testable import Tern

private let book = "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT)"
private let books = SyncSchema(version: 1, tables: [SyncTable("book")])

extension Device {
  /// The state, whether its rows are shown or quarantined.
  fileprivate var cells: [[String: CanonicalCell]] {
    get throws { try store.canonicalState().map(\.cells) }
  }
}

/// Writes of Tern's own that the app's constraints, triggers and expressions refuse.
@Suite("Merge: writes of Tern's own that the app refuses")
struct GuestRefusedWriteTests {
  // MARK: - What a seal puts back

  @Test func `a row whose extreme a CHECK refuses is quarantined, and its children with it`() throws
  {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("span", merge: ["started": .max]), SyncTable("child")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE span (
        id TEXT NOT NULL PRIMARY KEY, started INTEGER, finished INTEGER,
        CHECK (started <= finished));
      CREATE TABLE child (
        id TEXT NOT NULL PRIMARY KEY, span TEXT REFERENCES span (id) ON DELETE CASCADE);
      """)
    try a.commit("INSERT INTO span VALUES ('1', 5, 10); INSERT INTO child VALUES ('c', '1')")
    try meet(a, b)
    try a.execute("UPDATE span SET started = 2, finished = 3")
    #expect(try a.store.seal().count == 1)
    #expect(try a.store.counts().quarantined == 2)
    #expect(try a.store.counts().unsealedChanges == 0)
    #expect(try a.store.seal().isEmpty)
    try meet(a, b)
    try expectEqual(a, b, "span", "child")
    try b.execute("INSERT INTO span VALUES ('1', 5, 20)")
    try meet(a, b)
    try meet(a, b)
    #expect(try a.column("SELECT started || '–' || finished FROM span") == ["5–20"])
    #expect(try a.column("SELECT id FROM child") == ["c"])
    try expectEqual(a, b, "span", "child")
  }

  @Test(arguments: ["ABORT, 'locked'", "ROLLBACK, 'locked'"])
  func `a set in another form is put right where a trigger locks the row`(
    _ raise: String
  ) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", merge: ["tags": .set])])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, tags TEXT NOT NULL DEFAULT '[]', locked);
      CREATE TRIGGER lock BEFORE UPDATE ON t WHEN OLD.locked BEGIN SELECT RAISE(\(raise)); END;
      """)
    try a.execute(#"INSERT INTO t VALUES ('1', '["b","a"]', 1), ('2', '[]', 0)"#)
    #expect(try a.store.seal().count == 1)
    try meet(a, b)
    for device in [a, b] {
      try device.store.access.settle()
      #expect(try device.column("SELECT tags FROM t ORDER BY id") == [#"["a","b"]"#, "[]"])
      #expect(try device.store.seal().isEmpty)
    }
    try expectEqual(a, b, "t")
  }

  @Test func `a sum that a CHECK refuses is quarantined again where the row is inserted again`()
    throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("item", merge: ["stock": .counter])])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0))
      """)
    try a.execute("INSERT INTO item VALUES ('1', 5)")
    try meet(a, b)
    for device in [a, b] { try device.execute("UPDATE item SET stock = stock - 4") }
    try meet(a, b)
    try meet(a, b)
    for device in [a, b] {
      #expect(try device.store.counts().quarantined == 1)
      try device.execute("INSERT INTO item VALUES ('1', 2)")
      #expect(try device.store.seal().count == 1)
      #expect(try device.store.counts().quarantined == 1)
    }
    try meet(a, b)
    try meet(a, b)
    #expect(try a.column("SELECT stock FROM item") == ["1"])
    try expectEqual(a, b, "item")
  }

  // MARK: - What a merge writes

  private let strict = """
    CREATE TRIGGER strict BEFORE INSERT ON book WHEN NEW.title = 'bad' BEGIN
      SELECT RAISE(ROLLBACK, 'no bad ones');
    END
    """

  @Test func `a trigger that rolls the transaction back does not run`()
    throws
  {
    let (a, b) = try Device.pair(books, book)
    try b.execute(strict)
    try b.execute("INSERT INTO book VALUES ('own', 'Own')")
    try a.execute("INSERT INTO book VALUES ('1', 'Dune'), ('2', 'bad'), ('3', 'Emma')")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book ORDER BY 1") == ["1", "2", "3", "own"])
    #expect(try b.store.counts().quarantined == 0)
    #expect(try b.column("PRAGMA foreign_keys") == ["1"])
    try expectEqual(a, b, "book")
    #expect(throws: DatabaseError.self) { try b.execute("INSERT INTO book VALUES ('x', 'bad')") }
    try meet(a, b)
    try expectEqual(a, b, "book")
  }

  @Test(arguments: [
    "kind TEXT AS (json_extract(title, '$.k')) STORED",
    "CHECK (json_extract(title, '$.k') IS NOT 'none')",
  ])
  func `a row for which an expression of the app's fails is quarantined`(_ part: String) throws {
    let a = try Device(books, id: 1) { try $0.execute(sql: book) }
    let b = try Device(books, id: 2) { db in
      try db.execute(
        sql: "CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT, \(part))")
    }
    try a.execute("INSERT INTO book VALUES ('1', 'no JSON'), ('2', '{}')")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book") == ["2"])
    #expect(try b.store.counts().quarantined == 1)
    try a.execute(#"UPDATE book SET title = '{"k": 1}' WHERE isbn = '1'"#)
    try meet(a, b)
    #expect(try b.column("SELECT title FROM book ORDER BY isbn") == [#"{"k": 1}"#, "{}"])
    try expectEqual(a, b)
  }

  @Test
  func `a row is quarantined where an index's expression fails, and not where a trigger's does`()
    throws
  {
    let (a, b) = try Device.pair(books, book)
    try b.execute(
      """
      CREATE INDEX kind ON book (json_extract(title, '$.k'));
      CREATE TABLE kinds (id INTEGER PRIMARY KEY);
      CREATE TRIGGER kind_insert AFTER INSERT ON book BEGIN
        INSERT INTO kinds VALUES (json_extract(NEW.title, '$.k'));
      END;
      """)
    try a.execute(#"INSERT INTO book VALUES ('1', 'no'), ('2', '{}'), ('3', '{"k": "text"}')"#)
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book") == ["2", "3"])
    #expect(try b.store.counts().quarantined == 1)
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    let failed = remarks.first { $0.check == "trigger-failed" }
    #expect(failed?.place.table == "book" && failed?.what.contains("mismatch") ?? false)
    #expect(try a.cells == b.cells)
    try a.execute(#"UPDATE book SET title = '{"k": 7}' WHERE isbn <> '2'"#)
    try a.execute(#"UPDATE book SET title = '{"k": 8}' WHERE isbn = '3'"#)
    try meet(a, b)
    try expectEqual(a, b, "book")
  }
}
