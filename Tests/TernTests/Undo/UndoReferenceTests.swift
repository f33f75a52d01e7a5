import GRDB
import Tern
import TestDevice
import Testing

/// What foreign keys and the app's triggers do while an undo writes.
@Suite("Undo: foreign keys and triggers while an undo writes")
struct UndoReferenceTests {
  private func pair(_ tables: [String], _ creation: String) throws -> (Device, Device) {
    try Device.pair(SyncSchema(version: 1, tables: tables.map { SyncTable($0) }), creation)
  }

  /// Whether the tables sync in this order or the other way round: a seal goes by it.
  private func inBothOrders(
    _ tables: [String], _ creation: String, _ body: (Device, Device) throws -> Void
  ) throws {
    for tables in [tables, tables.reversed()] {
      let (a, b) = try pair(tables, creation)
      try body(a, b)
      try meet(a, b)
      try expectEqual(a, b, tables[0], tables[1])
      for device in [a, b] {
        #expect(try device.rows("PRAGMA foreign_key_check").isEmpty)
        #expect(try device.store.counts().quarantined == 0)
      }
    }
  }

  @Test(
    arguments: ["", "CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT"],
    ["", "STRICT", "WITHOUT ROWID", "STRICT, WITHOUT ROWID"])
  func `a row that was moved goes back before what it was moved to goes`(
    _ action: String, _ kind: String
  ) throws {
    let declared = action.isEmpty ? "" : "ON DELETE \(action)"
    try inBothOrders(
      ["item", "list"],
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT) \(kind);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, list TEXT DEFAULT 'home' REFERENCES list \(declared),
        name TEXT) \(kind);
      """
    ) { a, b in
      try a.commit("INSERT INTO list VALUES ('home', ''), ('0', '')")
      try a.commit("INSERT INTO item VALUES ('i', '0', 'a')")
      try a.store.write { db in
        try db.execute(sql: "INSERT INTO list VALUES ('new', '')")
        try db.execute(sql: "UPDATE item SET list = 'new' WHERE id = 'i'")
      }
      try meet(a, b)
      let undone = try #require(try a.store.undo())
      #expect(Set(undone.rows.map(\.action)) == [.restored, .removed])
      #expect(try a.column("SELECT id || list || name FROM item") == ["i0a"])
      #expect(try a.column("SELECT id FROM list ORDER BY id") == ["0", "home"])
    }
  }

  @Test func `a row goes back whose parent has a key of several columns, or is a part of its own`()
    throws
  {
    try inBothOrders(
      ["file", "folder"],
      """
      CREATE TABLE folder (a TEXT NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (b, a));
      CREATE TABLE file (
        id TEXT NOT NULL PRIMARY KEY, x TEXT, y INTEGER,
        FOREIGN KEY (y, x) REFERENCES folder (b, a) ON DELETE CASCADE);
      """
    ) { a, b in
      try a.commit("INSERT INTO folder VALUES ('f', 1); INSERT INTO file VALUES ('i', 'f', 1)")
      try a.store.write { db in
        try db.execute(sql: "INSERT INTO folder VALUES ('f', 2); UPDATE file SET y = 2")
      }
      #expect(try a.store.undo()?.rows.count == 2)
      #expect(try a.column("SELECT id || x || y FROM file") == ["if1"])
    }
    try inBothOrders(
      ["line", "sheet"],
      """
      CREATE TABLE sheet (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE line (
        sheet TEXT NOT NULL REFERENCES sheet ON DELETE CASCADE ON UPDATE CASCADE,
        n INTEGER NOT NULL, name TEXT, PRIMARY KEY (sheet, n)) WITHOUT ROWID;
      """
    ) { a, b in
      try a.commit("INSERT INTO sheet VALUES ('0'); INSERT INTO line VALUES ('0', 1, 'a')")
      try a.commit("UPDATE sheet SET id = '1'")
      #expect(try a.column("SELECT sheet || n || name FROM line") == ["11a"])
      #expect(try a.store.undo()?.rows.count == 4)
      #expect(try a.column("SELECT sheet || n || name FROM line") == ["01a"])
      #expect(try a.column("SELECT id FROM sheet") == ["0"])
    }
  }

  /// Rows of one table are undone from the last noted to the first.
  @Test func `rows go back in a tree that came under new ones, noted before these`() throws {
    let (a, b) = try pair(
      ["node"],
      """
      CREATE TABLE node (
        id TEXT NOT NULL PRIMARY KEY, up TEXT REFERENCES node ON DELETE CASCADE, name TEXT);
      """)
    try a.commit("INSERT INTO node VALUES ('root', NULL, ''), ('i', 'root', ''), ('j', 'i', '')")
    try meet(a, b)
    try a.store.write { db in
      try db.execute(
        sql: """
          UPDATE node SET name = 'moved' WHERE id = 'i';
          INSERT INTO node VALUES ('top', NULL, ''), ('mid', 'top', ''), ('self', 'self', '');
          UPDATE node SET up = 'mid' WHERE id = 'i';
          UPDATE node SET up = 'mid' WHERE id = 'top';
          """)
    }
    try meet(a, b)
    #expect(
      try a.store.undo()?.rows.map(\.action) == [.restored, .removed, .removed, .removed])
    let before = ["iroot", "ji", "root"]
    #expect(try a.column("SELECT id || ifnull(up, '') || name FROM node ORDER BY id") == before)
    try meet(a, b)
    #expect(try b.column("SELECT id || ifnull(up, '') || name FROM node ORDER BY id") == before)
    try expectEqual(a, b, "node")
  }

  /// Of two items the first is moved to a new list, and the second takes its place.
  private func moveFirst(_ a: Device, _ change: String) throws {
    try a.commit("INSERT INTO list VALUES ('0')")
    try a.commit("INSERT INTO item VALUES ('i', '0', 1, ''), ('j', '0', 2, '')")
    try a.store.write { db in
      try db.execute(
        sql: """
          UPDATE item SET name = 'first' WHERE id = 'j';
          INSERT INTO list VALUES ('1');
          UPDATE item SET \(change) WHERE id = 'i';
          UPDATE item SET pos = 1 WHERE id = 'j';
          """)
    }
  }

  @Test func `a row that a UNIQUE index keeps waiting is not taken along meanwhile`() throws {
    try inBothOrders(
      ["item", "list"],
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, list TEXT NOT NULL REFERENCES list ON DELETE CASCADE,
        pos INTEGER NOT NULL, name TEXT, UNIQUE (list, pos));
      """
    ) { a, b in
      try moveFirst(a, "list = '1'")
      try meet(a, b)
      #expect(try a.store.undo()?.rows.count == 3)
      #expect(try a.column("SELECT id || list || pos || name FROM item") == ["i01", "j02"])
      #expect(try a.column("SELECT id FROM list") == ["0"])
    }
  }

  @Test func `a row gets its place back from the one that was put over it`() throws {
    let (a, b) = try pair(
      ["node"],
      """
      CREATE TABLE node (
        id TEXT NOT NULL PRIMARY KEY, up TEXT REFERENCES node ON DELETE CASCADE,
        pos INTEGER NOT NULL UNIQUE);
      """)
    try a.commit("INSERT INTO node VALUES ('i', NULL, 1)")
    try a.store.write { db in
      try db.execute(
        sql: """
          UPDATE node SET pos = 9; INSERT INTO node VALUES ('new', NULL, 1);
          UPDATE node SET up = 'new' WHERE id = 'i';
          """)
    }
    try meet(a, b)
    #expect(try a.store.undo()?.rows.map(\.action) == [.restored, .removed])
    #expect(try a.column("SELECT id || ifnull(up, '-') || pos FROM node") == ["i-1"])
    try meet(a, b)
    try expectEqual(a, b, "node")
  }

  @Test func `a trigger that deletes like a foreign key takes no row along that goes back`() throws
  {
    try inBothOrders(
      ["item", "list"],
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, list TEXT, pos INTEGER UNIQUE, name TEXT);
      CREATE TRIGGER cascading AFTER DELETE ON list BEGIN
        DELETE FROM item WHERE list = OLD.id;
      END;
      """
    ) { a, b in
      try moveFirst(a, "list = '1', pos = 3")
      try meet(a, b)
      #expect(try a.store.undo()?.rows.count == 3)
      #expect(try a.column("SELECT id || list || pos || name FROM item") == ["i01", "j02"])
    }
  }

  @Test func `a row stays that a trigger's row has come to refer to`() throws {
    let (a, b) = try pair(
      ["list", "item", "trace"],
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
      CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list);
      CREATE TABLE trace (
        item TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TRIGGER tracing AFTER UPDATE ON item WHEN OLD.list = 'new' BEGIN
        INSERT INTO trace VALUES (OLD.id, OLD.list) ON CONFLICT DO NOTHING;
      END;
      """)
    try a.commit("INSERT INTO list VALUES ('0'); INSERT INTO item VALUES ('i', '0')")
    try a.store.write { db in
      try db.execute(
        sql: """
          INSERT INTO list VALUES ('new'), ('newer'); UPDATE item SET list = 'new';
          """)
    }
    let undone = try #require(try a.store.undo())
    #expect(undone.rows.map(\.action) == [.left, .removed, .restored])
    #expect(try a.column("SELECT id || list FROM item") == ["i0"])
    #expect(try a.column("SELECT list FROM trace") == ["new"])
    #expect(try a.column("SELECT id FROM list ORDER BY id") == ["0", "new"])
    try meet(a, b)
    try expectEqual(a, b, "list", "item", "trace")
  }

  @Test func `nothing is undone where a trigger takes away a row that is to go back`() throws {
    let (a, _) = try pair(
      ["item"],
      "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, name TEXT)")
    try a.commit("INSERT INTO item VALUES ('i', 'a'), ('j', 'a')")
    try a.commit("UPDATE item SET name = 'b'")
    try a.execute(
      """
      CREATE TRIGGER only AFTER UPDATE ON item WHEN NEW.name = 'a' BEGIN
        DELETE FROM item WHERE id <> NEW.id;
      END;
      """)
    #expect(throws: DatabaseError.self) { try a.store.undo() }
    #expect(try a.column("SELECT id || name FROM item") == ["ib", "jb"])
  }
}
