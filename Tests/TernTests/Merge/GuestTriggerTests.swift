import GRDB
import TestDevice
import Testing

@testable import Tern

private let book = """
  CREATE TABLE book (
    isbn TEXT NOT NULL PRIMARY KEY, title TEXT, scans INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0, rating REAL);
  """

private func pair(_ triggers: String) throws -> (Device, Device) {
  let schema = SyncSchema(
    version: 1, tables: [SyncTable("book", merge: ["scans": .counter, "rating": .max])])
  return try Device.pair(schema, book + triggers)
}

@Suite("Merge: the app's triggers")
struct GuestTriggerTests {
  @Test func `a full-text index kept by triggers stays right through merges`() throws {
    let (a, b) = try pair(bookSearch)
    try b.execute("INSERT INTO book (isbn, title) VALUES ('x', 'Own book')")
    try a.execute("INSERT INTO book (isbn, title) VALUES ('1', 'Dune'), ('2', 'Emma book')")
    try meet(a, b)
    #expect(try b.found("dune") == ["1"])
    #expect(try b.found("book") == ["2", "x"])
    try a.execute("UPDATE book SET title = 'Dune Messiah' WHERE isbn = '1'")
    try a.execute("DELETE FROM book WHERE isbn = '2'")
    try meet(a, b)
    #expect(try b.found("messiah") == ["1"])
    #expect(try b.found("emma") == [])
    for device in [a, b] { try device.checkSearch() }
    try expectEqual(a, b)
  }

  @Test func `an audit table that is not synced is written once a merged row`() throws {
    let (a, b) = try pair(
      """
      CREATE TABLE audit (isbn, what);
      CREATE TRIGGER audit_insert AFTER INSERT ON book BEGIN
        INSERT INTO audit VALUES (NEW.isbn, 'insert');
      END;
      CREATE TRIGGER audit_update AFTER UPDATE ON book BEGIN
        INSERT INTO audit VALUES (NEW.isbn, 'update');
      END;
      """)
    try a.execute("INSERT INTO book (isbn, title) VALUES ('1', 'Dune')")
    try meet(a, b)
    try a.execute("UPDATE book SET title = 'A' WHERE isbn = '1'")
    try a.execute("DELETE FROM audit")
    try b.execute("DELETE FROM audit")
    try meet(a, b)
    #expect(try b.column("SELECT what FROM audit") == ["update"])
    try expectEqual(a, b, "book")
  }

  @Test func `a merged row stands as the state says although a trigger touches it`() throws {
    let (a, b) = try pair(bookTouch)
    try a.execute("INSERT INTO book (isbn, title) VALUES ('1', 'Dune'), ('2', 'Emma')")
    try meet(a, b)
    // Locally it is a write like any other.
    try a.execute("UPDATE book SET title = 'A' WHERE isbn = '1'")
    #expect(try a.column("SELECT updated_at FROM book ORDER BY isbn") == ["1", "0"])
    try meet(a, b)
    #expect(try b.column("SELECT updated_at FROM book ORDER BY isbn") == ["1", "0"])
    #expect(try b.store.counts().unsealedChanges == 0)
    #expect(try b.store.seal().isEmpty)
    try expectEqual(a, b, "book")
    for round in 1...3 {
      try a.execute("UPDATE book SET title = 'A\(round)'")
      try b.execute("UPDATE book SET scans = scans + 1")
      try meet(a, b)
      try meet(a, b)
      try expectEqual(a, b, "book")
    }
    #expect(try a.store.counts().operations == b.store.counts().operations)
    #expect(try b.store.seal().isEmpty && a.store.seal().isEmpty)
  }

  @Test func `what a seal puts back fires no trigger that writes to a synced table`() throws {
    let (a, b) = try pair(bookTouch)
    try a.execute("INSERT INTO book (isbn, rating) VALUES ('1', 0.9)")
    try meet(a, b)
    try b.execute("UPDATE book SET rating = 0.5")
    try meet(a, b)
    #expect(try b.column("SELECT rating FROM book") == ["0.9"])
    // Once, for what the app wrote.
    #expect(try b.column("SELECT updated_at FROM book") == ["1"])
    try meet(a, b)
    #expect(try a.column("SELECT updated_at FROM book") == ["1"])
    try expectEqual(a, b, "book")
    #expect(try b.store.counts().unsealedChanges == 0)
  }

  @Test func `a trigger that writes to another synced table does not run`() throws {
    let sql =
      book + """
        CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, n INTEGER, note TEXT DEFAULT 'none');
        CREATE TRIGGER counting AFTER INSERT ON book BEGIN
          INSERT INTO shelf (id, n) VALUES ('all', 1) ON CONFLICT DO UPDATE SET n = n + 1;
          DELETE FROM shelf WHERE id = 'empty';
          INSERT INTO shelf (id) VALUES (NEW.isbn);
        END;
        """
    let schema = SyncSchema(version: 1, tables: [SyncTable("shelf"), SyncTable("book")])
    let (a, b) = try Device.pair(schema, sql)
    try b.execute("INSERT INTO shelf VALUES ('empty', 0, 'kept')")
    try b.execute("INSERT INTO shelf VALUES ('all', 10, 'mine')")
    try b.store.seal()
    try a.execute("INSERT INTO book (isbn) VALUES ('1')")
    try a.store.seal()
    try a.execute("DELETE FROM shelf WHERE id = '1'")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM shelf ORDER BY id") == ["all", "empty"])
    #expect(try b.store.seal().isEmpty)
    try meet(a, b)
    try expectEqual(a, b, "book", "shelf")
  }

  @Test func `a temporary trigger does not either, and triggers are on again after a failure`()
    throws
  {
    let (a, b) = try pair("")
    try b.execute(
      """
      CREATE TEMP TRIGGER touch AFTER INSERT ON book BEGIN
        UPDATE book SET updated_at = 77 WHERE isbn = NEW.isbn;
      END
      """)
    try a.execute("INSERT INTO book (isbn) VALUES ('1')")
    try meet(a, b)
    #expect(try b.column("SELECT updated_at FROM book") == ["0"])
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try b.store.access.write(withoutForeignKeys: true) { transaction in
        try transaction.triggers.merging {
          try transaction.db.execute(sql: "INSERT INTO book (isbn) VALUES ('2')")
          throw Stop()
        }
      }
    }
    try b.execute("INSERT INTO book (isbn) VALUES ('3')")
    #expect(try b.column("SELECT updated_at FROM book ORDER BY isbn") == ["0", "77"])
    #expect(try b.store.seal().count == 1)
    #expect(try b.column("PRAGMA foreign_keys") == ["1"])
  }

  @Test func `a trigger that refuses writes refuses no merged row`() throws {
    let (a, b) = try pair("")
    try b.execute(
      """
      CREATE TRIGGER strict BEFORE INSERT ON book WHEN NEW.title IS NULL BEGIN
        SELECT RAISE(ABORT, 'a title, please');
      END
      """)
    try a.execute("INSERT INTO book (isbn) VALUES ('1')")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM book") == ["1"])
    #expect(try b.store.counts().quarantined == 0)
    #expect(throws: DatabaseError.self) { try b.execute("INSERT INTO book (isbn) VALUES ('2')") }
    try expectEqual(a, b, "book")
  }
}
