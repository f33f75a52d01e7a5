#if Rehearsal
import GRDB
import TernCore
import TestDevice
import Testing

@testable import Tern

/// Each bug that a merge beside the app's triggers can have, and what it breaks.
@Suite("Triggers: planted bugs of merges beside them")
struct PlantedTriggerTests {
  private static let books = SyncSchema(version: 1, tables: [SyncTable("book")])
  private static let table = """
    CREATE TABLE book (id TEXT NOT NULL PRIMARY KEY, title TEXT, rev INTEGER DEFAULT 0);
    CREATE TABLE seen (id TEXT);
    """
  /// An unsafe one, for which merges turn the others off.
  private static let touch = """
    CREATE TRIGGER touch AFTER UPDATE ON book BEGIN
      UPDATE book SET rev = rev + 1 WHERE id = NEW.id;
    END;
    """
  private static let mirror = """
    CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO seen VALUES (NEW.id); END;
    """

  /// - Returns: the device that merged a row of another one's.
  private func merged(_ triggers: String, before: (Device) throws -> Void = { _ in }) throws
    -> Device
  {
    let (a, b) = try Device.pair(Self.books, Self.table + triggers)
    try before(b)
    try a.execute("INSERT INTO book (id, title) VALUES ('1', 'Dune')")
    try b.pull(from: a)
    return b
  }

  private func capturesAfterError() throws -> Bool {
    struct Stop: Error {}
    let b = try merged(Self.touch)
    #expect(throws: Stop.self) {
      try b.store.access.write(withoutForeignKeys: true) { transaction in
        try transaction.triggers.merging {
          try transaction.db.execute(sql: "ROLLBACK")
          throw Stop()
        }
      }
    }
    try b.execute("INSERT INTO book (id) VALUES ('2')")
    return try b.store.seal().count == 1
  }

  private func leavesNoCopy() throws -> Bool {
    try merged(Self.touch + Self.mirror).column("SELECT name FROM temp.sqlite_temp_master") == []
  }

  private func runsNested() throws -> Bool {
    let nested = """
      CREATE TABLE further (id TEXT);
      CREATE TRIGGER two AFTER INSERT ON seen BEGIN INSERT INTO further VALUES (NEW.id); END;
      """
    return try merged(Self.touch + Self.mirror + nested).column("SELECT id FROM further") == ["1"]
  }

  private func sparesOtherReplica() throws -> Bool {
    let shelves = SyncSchema(version: 1, tables: [SyncTable("shelf")])
    let naming = """
      CREATE TABLE shelf (id TEXT NOT NULL PRIMARY KEY, name TEXT);
      CREATE TRIGGER naming AFTER INSERT ON book BEGIN UPDATE shelf SET name = NEW.title; END;
      """
    let b = try merged(naming) {
      _ = try Device($0.database, shelves, id: 3, name: "others")
      try $0.execute("INSERT INTO shelf VALUES ('1', 'own')")
    }
    return try b.column("SELECT name FROM shelf") == ["own"]
  }

  private func knowsNewTrigger() throws -> Bool {
    let (a, b) = try Device.pair(Self.books, Self.table)
    try a.execute("INSERT INTO book (id) VALUES ('1')")
    try meet(a, b)
    try b.execute(Self.touch)
    try a.execute("UPDATE book SET title = 'Dune'")
    try meet(a, b)
    return try b.column("SELECT rev FROM book") == ["0"]
  }

  private func sealsWithoutTriggers() throws -> Bool {
    let schema = SyncSchema(version: 1, tables: [SyncTable("book", merge: ["rev": .max])])
    let (a, b) = try Device.pair(
      schema,
      Self.table + """
        CREATE TABLE calls (id TEXT, title TEXT);
        CREATE TRIGGER calling AFTER UPDATE ON book BEGIN
          UPDATE book SET title = ifnull(title, '') || '+' WHERE id = NEW.id;
        END;
        """)
    try a.execute("INSERT INTO book (id, rev) VALUES ('1', 9)")
    try b.pull(from: a)
    try b.execute("UPDATE book SET rev = 3")
    try b.store.seal()
    return try b.column("SELECT title || rev FROM book") == ["+9"]
  }

  private func showsWhatMirrorRefuses() throws -> Bool {
    let strict = """
      CREATE TABLE strict (title TEXT CHECK (title <> 'Dune'));
      CREATE TRIGGER one AFTER INSERT ON book BEGIN INSERT INTO strict VALUES (NEW.title); END;
      """
    let b = try merged("") { try $0.execute(strict) }
    return try b.column("SELECT title FROM book") == ["Dune"] && b.store.counts().quarantined == 0
  }

  private func holds(_ bug: Planted) throws -> Bool {
    switch bug {
    case .switchStaysOff: try capturesAfterError()
    case .copyStays: try leavesNoCopy()
    case .nestedUncopied: try runsNested()
    case .othersUncounted: try sparesOtherReplica()
    case .triggersKnownOld: try knowsNewTrigger()
    case .sealFiresTriggers: try sealsWithoutTriggers()
    case .mirrorHoldsRow: try showsWhatMirrorRefuses()
    default: preconditionFailure("nobody says what \(bug.rawValue) breaks")
    }
  }

  @Test(arguments: Planted.ofTriggers)
  func `INV-01, INV-02: a planted bug is caught`(_ bug: Planted) throws {
    #expect(try holds(bug))
    // A copy that stayed makes the device's next merge fail.
    let isHeld = Result { try Planted.with(bug) { try holds(bug) } }
    #expect((try? isHeld.get()) != true)
  }
}
#endif
