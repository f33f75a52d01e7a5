import GRDB
import Tern
import TestDevice
import Testing

private let book = """
  CREATE TABLE book (
    isbn TEXT NOT NULL PRIMARY KEY, title TEXT, updated_at INTEGER NOT NULL DEFAULT 0, thumb TEXT);
  """

private let schema = SyncSchema(version: 1, tables: [SyncTable("book", local: ["thumb"])])

/// In a merge none of these triggers runs that changes a synced row, and all others do.
@Suite("Merge: triggers that write to synced rows")
struct UnsafeTriggerTests {
  @Test func `a touched row keeps its rowid, its local columns and a full-text index`() throws {
    let (a, b) = try Device.pair(schema, book + bookSearch + bookTouch)
    try a.execute(
      "INSERT INTO book (isbn, title) VALUES ('1', 'Dune'), ('2', 'Emma'), ('3', 'Ion')")
    try meet(a, b)
    try b.execute("UPDATE book SET thumb = 'own' || isbn")
    try meet(a, b)
    try meet(a, b)
    try a.execute("UPDATE book SET title = 'Dune Messiah' WHERE isbn = '1'")
    try meet(a, b)
    #expect(
      try b.column("SELECT rowid || thumb FROM book ORDER BY isbn") == ["1own1", "2own2", "3own3"])
    #expect(try b.found("messiah") == ["1"])
    #expect(try b.found("dune OR emma OR ion") == ["1", "2", "3"])
    try a.execute("DELETE FROM book WHERE isbn = '1'")
    try meet(a, b)
    for device in [a, b] { try device.checkSearch() }
    let synced = "SELECT isbn || title || updated_at FROM book"
    #expect(try a.column(synced) == b.column(synced))
    try expectEqual(a, b)
  }

  @Test func `what triggers mirror of a column that another one rewrites follows what is merged`()
    throws
  {
    let a = try Device(schema, id: 1) { try $0.execute(sql: book + bookSearch) }
    let b = try Device(schema, id: 2) { db in
      // What is created last fires first: the index has the row when it is rewritten.
      let rewrite = """
        CREATE TRIGGER rewrite AFTER INSERT ON book BEGIN
          UPDATE book SET title = 'another word' WHERE isbn = NEW.isbn;
        END;
        """
      try db.execute(sql: book + rewrite + bookSearch)
    }
    try a.execute("INSERT INTO book (isbn, title) VALUES ('1', 'Dune'), ('2', 'Emma')")
    try meet(a, b)
    #expect(try b.column("SELECT title FROM book ORDER BY isbn") == ["Dune", "Emma"])
    #expect(try b.found("dune") == ["1"])
    #expect(try b.found("another") == [])
    try b.checkSearch()
    try expectEqual(a, b, "book")
  }

  @Test func `rows among which a trigger swaps a UNIQUE value stay as they are merged`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("slot", local: ["mine"])])
    let (a, b) = try Device.pair(
      schema,
      "CREATE TABLE slot (id TEXT NOT NULL PRIMARY KEY, place TEXT UNIQUE, name TEXT, mine TEXT)")
    try b.execute(
      """
      CREATE TRIGGER swap AFTER UPDATE OF name ON slot BEGIN
        UPDATE slot SET place = 'free' WHERE id = '1';
        UPDATE slot SET place = 'A' WHERE id = '2';
        UPDATE slot SET place = 'B' WHERE id = '1';
      END
      """)
    try a.execute("INSERT INTO slot (id, place) VALUES ('1', 'A'), ('2', 'B'), ('3', 'C')")
    try meet(a, b)
    try b.execute("UPDATE slot SET mine = 'mine' || id")
    try a.execute("UPDATE slot SET name = 'new' WHERE id = '1'")
    try meet(a, b)
    #expect(
      try b.column("SELECT rowid || id || place || ifnull(name, '') || mine FROM slot ORDER BY id")
        == ["11Anewmine1", "22Bmine2", "33Cmine3"])
    #expect(try b.store.counts().quarantined == 0)
    try expectEqual(a, b)
  }

  @Test func `a trigger that inserts under random keys does not run, nor what it mirrors`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("book"), SyncTable("log")])
    let (a, b) = try Device.pair(
      schema,
      book + """
        CREATE TABLE log (id TEXT NOT NULL PRIMARY KEY, isbn TEXT);
        CREATE TABLE seen (isbn TEXT);
        CREATE TRIGGER logging AFTER INSERT ON book BEGIN
          INSERT INTO log VALUES (hex(randomblob(16)), NEW.isbn);
          INSERT INTO seen VALUES (NEW.isbn);
        END;
        """)
    try a.execute("INSERT INTO book (isbn) VALUES ('1'), ('2')")
    try meet(a, b)
    #expect(try b.column("SELECT isbn FROM log ORDER BY 1") == ["1", "2"])
    #expect(try b.column("SELECT isbn FROM seen ORDER BY 1") == [])
    #expect(try b.store.seal().isEmpty)
    try expectEqual(a, b, "book", "log")
  }

  @Test func `a trigger that changes other rows every time does not run`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("book"), SyncTable("shelf")])
    let (a, b) = try Device.pair(
      schema,
      book + """
        CREATE TABLE shelf (id INTEGER NOT NULL, n INTEGER, PRIMARY KEY (id)) WITHOUT ROWID;
        INSERT INTO shelf VALUES (1, 0);
        """)
    try a.execute(
      """
      WITH RECURSIVE c(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM c WHERE i < 500)
      INSERT INTO shelf SELECT i, 0 FROM c
      """)
    try meet(a, b)
    try b.execute(
      """
      CREATE TRIGGER roulette AFTER INSERT ON book BEGIN
        UPDATE shelf SET n = n + 1 WHERE id = abs(random() % 500);
        UPDATE shelf SET n = n + 1 WHERE id = abs(random() % 500);
        UPDATE shelf SET n = n + 1 WHERE id = abs(random() % 500);
      END;
      """)
    try a.execute("INSERT INTO book (isbn) VALUES ('1')")
    try meet(a, b)
    #expect(try b.column("SELECT sum(n) FROM shelf") == ["0"])
    #expect(try b.store.seal().isEmpty)
    try expectEqual(a, b, "book", "shelf")
  }
}
