import Foundation
import GRDB
import TestDevice
import Testing

@testable import Tern

private let schema = SyncSchema(version: 1, tables: [SyncTable("book", local: ["thumb"])])
private let creation = """
  CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title TEXT, rev INTEGER DEFAULT 0, thumb TEXT);
  CREATE TABLE seen (id TEXT, what TEXT);
  """
/// Makes every merge go without the triggers of the database, and with copies.
private let touch = """
  CREATE TRIGGER touch AFTER UPDATE ON book BEGIN
    UPDATE book SET rev = rev + 1 WHERE id = NEW.id;
  END;
  """

/// What of the connection's triggers a merge must leave as it was.
private struct Standing: Hashable {
  let schemaVersion: Int?
  let temporary: [String]
  let isOn: Bool

  init(_ device: Device) throws {
    self = try device.database.writeWithoutTransaction { try Standing($0) }
  }

  private init(_ db: Database) throws {
    schemaVersion = try Int.fetchOne(db, sql: "PRAGMA schema_version")
    temporary = try String.fetchAll(
      db, sql: "SELECT name || sql FROM temp.sqlite_temp_master WHERE type = 'trigger' ORDER BY 1")
    let notes = "SELECT count(*) FROM grdb_tern_main_note_1"
    let before = try Int.fetchOne(db, sql: notes)
    try db.execute(sql: "SAVEPOINT probe; INSERT INTO book (id) VALUES ('probe')")
    isOn = try Int.fetchOne(db, sql: notes) != before
    try db.execute(sql: "ROLLBACK TO probe; RELEASE probe")
  }
}

@Suite("Triggers: which of the app's run in merges")
struct MergedTriggerTests {
  @Test(arguments: ["", touch])
  func `harmless ones run, those that others' writes fire too`(_ unsafe: String) throws {
    let (a, b) = try Device.pair(
      schema,
      creation + """
        CREATE TABLE "od""d" (id TEXT);
        CREATE VIEW latest AS SELECT id, title FROM book;
        CREATE TRIGGER one AFTER INSERT ON book WHEN NEW.title IS NOT NULL BEGIN
          INSERT INTO seen VALUES (NEW.id, 'one');
          INSERT INTO latest VALUES (NEW.id, NEW.title);
          UPDATE book SET thumb = 'of ' || NEW.id WHERE id = NEW.id;
        END;
        CREATE TRIGGER two AFTER INSERT ON seen WHEN NEW.what = 'one' BEGIN
          INSERT INTO "od""d" VALUES (NEW.id);
        END;
        CREATE TRIGGER three INSTEAD OF INSERT ON latest BEGIN
          INSERT INTO seen VALUES (NEW.id, 'latest ' || NEW.title);
        END;
        """ + unsafe)
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'Dune'), ('2', NULL)")
    let before = try Standing(b)
    try meet(a, b)
    #expect(
      try b.column("SELECT id || what FROM seen ORDER BY 1") == ["1latest Dune", "1one"])
    #expect(try b.column(#"SELECT id FROM "od""d""#) == ["1"])
    #expect(try b.column("SELECT thumb FROM book ORDER BY id") == ["of 1", nil])
    #expect(try Standing(b) == before && before.isOn)
    #expect(try b.store.seal().isEmpty)
    try expectEqual(a, b)
  }

  @Test func `one that writes to a table of another replica does not run`() throws {
    let others = SyncSchema(version: 1, tables: [SyncTable("shelf", local: ["count"])])
    let (a, b) = try Device.pair(
      schema,
      creation + """
        CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT, count INTEGER DEFAULT 0);
        CREATE TRIGGER counting AFTER INSERT ON book BEGIN
          UPDATE shelf SET count = count + 1;
        END;
        CREATE TRIGGER naming AFTER INSERT ON book BEGIN
          UPDATE shelf SET name = NEW.title;
        END;
        """)
    _ = try Device(b.database, others, id: 3, name: "others")
    try b.execute("INSERT INTO shelf VALUES ('1', 'own', 0)")
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'Dune')")
    try meet(a, b)
    #expect(try b.column("SELECT name || count FROM shelf") == ["own1"])
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    #expect(remarks.filter { $0.check == "trigger-skipped" }.map(\.what).count == 1)
    #expect(remarks.contains { $0.what.contains("“naming”") && $0.what.contains("“name”") })
  }

  @Test func `temporary ones too, and afterwards they are as they were`() throws {
    let (a, b) = try Device.pair(schema, creation)
    try b.execute(
      """
      CREATE TEMP TABLE noise (id);
      CREATE TEMP TRIGGER "quo""ted" AFTER INSERT ON book BEGIN
        INSERT INTO seen VALUES (NEW.id, 'temporary');
      END;
      CREATE TEMP TRIGGER changing AFTER INSERT ON book BEGIN
        UPDATE book SET title = 'changed' WHERE id = NEW.id;
      END;
      """)
    let before = try Standing(b)
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'Dune')")
    try meet(a, b)
    #expect(try b.column("SELECT title FROM book") == ["Dune"])
    #expect(try b.column("SELECT what FROM seen") == ["temporary"])
    #expect(try Standing(b) == before && before.temporary.count == 2)
    struct Stop: Error {}
    for hasEnded in [false, true] {
      #expect(throws: Stop.self) {
        try b.store.access.write(withoutForeignKeys: true) { transaction in
          try transaction.triggers.merging {
            if hasEnded { try transaction.db.execute(sql: "ROLLBACK") }
            throw Stop()
          }
        }
      }
      #expect(try Standing(b) == before)
    }
    // Also where the app goes on in the transaction.
    try b.database.write { db in
      _ = #expect(throws: Stop.self) {
        try b.store.access.join(db) { transaction in
          try transaction.triggers.merging { throw Stop() }
        }
      }
    }
    #expect(try Standing(b) == before)
    try b.execute("INSERT INTO book (id, title) VALUES ('2', 'Emma')")
    #expect(try b.column("SELECT title FROM book WHERE id = '2'") == ["changed"])
  }

  @Test func `a temporary table that hides a mirror keeps its trigger from running`() throws {
    let (a, b) = try Device.pair(
      schema,
      creation + touch + """
        CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO seen VALUES (NEW.id, 'one'); END;
        """)
    try b.execute("CREATE TEMP TABLE seen (id TEXT, what TEXT)")
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM temp.seen") == [])
    #expect(try b.column("SELECT id FROM book") == ["1"])
  }

  @Test func `one that came since the last merge, by whomever, is known in the next`() throws {
    let (a, b) = try Device.pair(schema, creation)
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    try b.execute(touch)
    try a.execute("UPDATE book SET title = 'Dune'")
    try meet(a, b)
    #expect(try b.column("SELECT rev FROM book") == ["0"])
    try b.execute("DROP TRIGGER touch")
    try b.execute("CREATE TEMP " + touch.dropFirst("CREATE ".count))
    try a.execute("UPDATE book SET title = 'Emma'")
    try meet(a, b)
    #expect(try b.column("SELECT rev FROM book") == ["0"])
  }

  @Test(arguments: ["", touch])
  func `a clause for conflicts in one, or in its mirror's declaration, holds`(_ unsafe: String)
    throws
  {
    let (a, b) = try Device.pair(
      schema,
      creation + """
        CREATE TABLE last (one INTEGER PRIMARY KEY, id TEXT);
        CREATE TABLE first (one INTEGER PRIMARY KEY ON CONFLICT IGNORE, id TEXT);
        CREATE TABLE titles (title TEXT UNIQUE);
        CREATE TRIGGER one AFTER INSERT ON book BEGIN
          INSERT OR REPLACE INTO last VALUES (1, NEW.id);
          INSERT INTO first VALUES (1, NEW.id);
          INSERT OR IGNORE INTO titles VALUES (NEW.title);
        END;
        CREATE TRIGGER two AFTER UPDATE ON book BEGIN
          INSERT OR IGNORE INTO titles VALUES (NEW.title);
        END;
        """ + unsafe)
    let many = (1...40).map { "('\($0)', 'same')" }.joined(separator: ",")
    try a.execute("INSERT INTO book (id, title) VALUES \(many)")
    try meet(a, b)
    try a.execute("UPDATE book SET title = 'same', rev = 7 WHERE id = '3'")
    try a.execute("UPDATE book SET title = 'new' WHERE id = '4'")
    try meet(a, b)
    #expect(try b.store.counts().quarantined == 0)
    let rows = "SELECT count(*) || max(rev) FROM book"
    #expect(try b.column(rows) == a.column(rows))
    #expect(try b.column("SELECT title FROM titles ORDER BY 1") == ["new", "same"])
    #expect(try b.column("SELECT count(*) FROM last") == ["1"])
    #expect(try b.column("SELECT count(*) FROM first") == ["1"])
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    #expect(!remarks.contains { $0.check == "trigger-failed" })
    #expect(try b.store.canonicalState() == a.store.canonicalState())
  }

  @Test(arguments: ["", touch])
  func `one that fails keeps no row out, and is named`(_ unsafe: String) throws {
    let (a, b) = try Device.pair(
      schema,
      creation + """
        CREATE TABLE strict (id TEXT CHECK (id <> '2'), title TEXT NOT NULL);
        CREATE TRIGGER one AFTER INSERT ON book BEGIN
          INSERT INTO strict VALUES (NEW.id, NEW.title);
        END;
        CREATE TRIGGER gone BEFORE DELETE ON book BEGIN
          INSERT INTO strict VALUES (OLD.id, 'gone');
        END;
        """ + unsafe)
    try a.database.write { db in
      try db.execute(sql: "DROP TRIGGER one; DROP TRIGGER gone")
      try db.execute(sql: "INSERT INTO book (id, title) VALUES ('1', 'A'), ('2', 'B'), ('3', NULL)")
    }
    try meet(a, b)
    #expect(try b.column("SELECT id FROM book ORDER BY 1") == ["1", "2", "3"])
    #expect(try b.column("SELECT id FROM strict") == ["1"])
    try a.execute("DELETE FROM book WHERE id <> '3'")
    try meet(a, b)
    #expect(try b.column("SELECT id FROM book") == ["3"])
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    let failed = try #require(remarks.first { $0.check == "trigger-failed" })
    #expect(failed.place.table == "book" && failed.what.contains("3 times"))
    #expect(failed.what.contains("CHECK constraint failed"))
    let again = try Device(b.database, schema, id: 2)
    let after = try again.database.read { try DatabaseDiagnosis($0) }.remarks
    #expect(!after.contains { $0.check == "trigger-failed" })
  }

  /// Triggers that look harmless, and would keep rows out, or take them.
  @Test(arguments: [
    // Where the view's own trigger does not run, nothing can be written to it.
    """
    CREATE VIEW latest AS SELECT id FROM book;
    CREATE TRIGGER latest_came INSTEAD OF INSERT ON latest BEGIN
      INSERT INTO book (id) VALUES ('x' || NEW.id);
    END;
    CREATE TRIGGER one AFTER INSERT ON book WHEN NEW.id NOT LIKE 'x%' BEGIN
      INSERT INTO latest VALUES (NEW.id);
    END;
    """,
    "CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO missing VALUES (NEW.id); END;",
    "CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO seen VALUES (nobody(NEW.id), 1); END;",
    """
    CREATE TABLE full (one UNIQUE);
    INSERT INTO full VALUES (1);
    CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT OR FAIL INTO full VALUES (1); END;
    """,
    """
    CREATE TABLE full (one UNIQUE ON CONFLICT FAIL);
    INSERT INTO full VALUES (1);
    CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO full VALUES (1); END;
    """,
    """
    CREATE TRIGGER one AFTER INSERT ON book BEGIN
      UPDATE OR REPLACE book SET thumb = 'same' WHERE id = NEW.id;
    END;
    """,
    "CREATE TRIGGER one AFTER INSERT ON book BEGIN UPDATE book SET thumb = NULL; END;",
    // A byte order mark, which SQLite takes for a space.
    "CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO \u{FEFF}book (id) VALUES ('x'); END;",
  ])
  func `one that looks harmless takes no row and keeps none out`(_ triggers: String) throws {
    let a = try Device(schema, id: 1) { try $0.execute(sql: creation) }
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'Dune'), ('2', 'Emma')")
    let strict = creation.replacing("thumb TEXT", with: "thumb TEXT NOT NULL DEFAULT ''")
    let b = try Device(schema, id: 2) { try $0.execute(sql: strict + triggers) }
    for title in ["Ion", "Persuasion"] {
      try b.pull(from: a)
      #expect(
        try b.column("SELECT title FROM book ORDER BY id") == a.column("SELECT title FROM book"))
      #expect(try b.store.counts().quarantined == 0)
      #expect(try b.store.seal().isEmpty)
      try a.execute("UPDATE book SET title = '\(title)' WHERE id = '2'")
    }
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks.map(\.check)
    #expect(["trigger-skipped", "trigger-failed"].contains(remarks.first), "\(remarks)")
  }

  @Test func `what deletes from a parent of synced rows does not run as the seal puts back`() throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("item", merge: ["high": .max])])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE cache (id INTEGER PRIMARY KEY);
      INSERT INTO cache VALUES (1);
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, high INTEGER,
        cache INTEGER REFERENCES cache ON DELETE CASCADE);
      CREATE TRIGGER dropping AFTER UPDATE OF high ON item WHEN NEW.high > 5 BEGIN
        DELETE FROM cache;
      END;
      """)
    try a.execute("INSERT INTO item VALUES ('1', 9, 1)")
    try meet(a, b)
    try b.execute("UPDATE item SET high = 3")
    try meet(a, b)
    #expect(try b.column("SELECT high FROM item") == ["9"])
    try expectEqual(a, b, "item")
  }

  @Test(arguments: ["", touch.replacing("book", with: "item").replacing("rev", with: "n")])
  func `a mirror follows what the seal puts back`(_ unsafe: String) throws {
    let schema = SyncSchema(
      version: 1, tables: [SyncTable("item", merge: ["high": .max, "tags": .set])])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE item (
        id TEXT NOT NULL PRIMARY KEY, high INTEGER, n INTEGER DEFAULT 0,
        tags TEXT NOT NULL DEFAULT '[]');
      CREATE TABLE mirror (id PRIMARY KEY, high CHECK (high <> 7));
      CREATE TRIGGER mirrored AFTER UPDATE ON item BEGIN
        INSERT OR REPLACE INTO mirror VALUES (NEW.id, NEW.high);
      END;
      """ + unsafe)
    try a.execute("INSERT INTO item (id, high) VALUES ('1', 9)")
    try meet(a, b)
    try b.execute("UPDATE item SET high = 3")
    #expect(try b.column("SELECT high FROM mirror") == ["3"])
    try b.store.seal()
    #expect(try b.column("SELECT high FROM mirror") == ["9"])
    #expect(try b.store.counts().unsealedChanges == 0)
    // A table with a set says the error all the same.
    try a.execute("UPDATE item SET high = NULL, tags = '[\"a\"]' WHERE id = '1'")
    try a.execute("INSERT INTO item (id, high) VALUES ('2', 6)")
    try meet(a, b)
    try a.execute("DROP TRIGGER mirrored")
    try a.execute("UPDATE item SET high = 7 WHERE id = '2'")
    try meet(a, b)
    #expect(try b.column("SELECT high FROM item WHERE id = '2'") == ["7"])
    let remarks = try b.database.read { try DatabaseDiagnosis($0) }.remarks
    let failed = try #require(remarks.first { $0.check == "trigger-failed" })
    #expect(failed.what.contains("CHECK constraint failed"), "\(failed)")
  }

  @Test func `an entry in the inbox has what was written, and not what a trigger made of it`()
    throws
  {
    let sql =
      creation + """
        CREATE TRIGGER tr AFTER UPDATE OF title ON book BEGIN
          UPDATE book SET rev = 77 WHERE id = NEW.id;
        END;
        """
    let (a, b) = try Device.pair(schema, sql)
    try a.execute("INSERT INTO book (id, title, rev) VALUES ('1', 'Dune', 0)")
    try meet(a, b)
    for (device, name, rev) in [(a, "a", 1), (b, "b", 2)] {
      try device.execute("UPDATE book SET title = '\(name)'")
      try device.execute("UPDATE book SET rev = \(rev)")
    }
    try meet(a, b)
    try meet(a, b)
    try expectEqual(a, b, "book")
    let entries = try [a, b].flatMap { device in
      try device.database.read { try device.replica.inbox(in: $0) }
    }
    #expect(!entries.isEmpty)
    #expect(entries.allSatisfy { $0.values["rev"] != .integer(77) }, "\(entries)")
  }

  @Test func `observers are told of what triggers write, and of nothing else`() throws {
    let (a, b) = try Device.pair(
      schema,
      creation + """
        CREATE TABLE other (id TEXT);
        CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO seen VALUES (NEW.id, 'one'); END;
        """)
    let observers = ["book", "seen", "other"].map { Told(table: $0) }
    for observer in observers { b.database.add(transactionObserver: observer) }
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    #expect(observers.map(\.isTold) == [true, true, false])
  }
}

/// Observes one table.
private final class Told: TransactionObserver {
  private(set) var isTold = false
  private let table: String

  init(table: String) { self.table = table }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == table }
  func databaseDidChange() { isTold = true }
  func databaseDidChange(with event: DatabaseEvent) { isTold = true }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
