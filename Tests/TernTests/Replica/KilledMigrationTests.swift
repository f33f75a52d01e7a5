import Foundation
import GRDB
import Tern
import TernTesting
import TestDevice
import Testing

private let columns = """
  isbn TEXT NOT NULL PRIMARY KEY, title TEXT, note TEXT, scans INTEGER NOT NULL DEFAULT 0,
  tags TEXT NOT NULL DEFAULT '[]', text TEXT NOT NULL DEFAULT '', seen INTEGER, any
  """
private let creation = "CREATE TABLE book (\(columns))"
private let rules: [String: MergeRule] = [
  "scans": .counter, "tags": .set, "text": .text, "seen": .max,
]
private let v1 = SyncSchema(version: 1, tables: [SyncTable("book", merge: rules)])
private let v2 = SyncSchema(version: 2, tables: [SyncTable("book", merge: rules)])
private let rows = """
  INSERT INTO book VALUES
    ('1', 'Dune', hex(zeroblob(40)), 2, '["sand"]', 'A desert', 3, 1),
    ('2', 'Emma', NULL, 0, '[]', '', NULL, 'x'), ('3', 'Ulysses', 'long', 1, '[]', 'Stately', 1, 2)
  """
/// What another program does between the death and the next opening, with no trigger there.
private let others = """
  UPDATE book SET title = 'Dune!', note = hex(zeroblob(41)), scans = scans + 3,
    tags = '["sand", "spice"]', text = 'A wide desert', seen = 9 WHERE isbn = '1';
  UPDATE book SET any = CAST('x' AS BLOB) WHERE isbn = '2';
  DELETE FROM book WHERE isbn = '3';
  INSERT INTO book (isbn, title) VALUES ('4', 'Persuasion');
  """
private let shown = "SELECT isbn, title, note, scans, tags, text, seen, any FROM book ORDER BY isbn"

@Suite("Replica: a process that dies in a migration", .timeLimit(.minutes(1)))
final class KilledMigrationTests {
  private let folder: String
  private var path: String { folder + "/a.sqlite" }
  private var copy: String { folder + "/killed.sqlite" }

  init() throws {
    folder = NSTemporaryDirectory() + "/tern-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// What a kill leaves of a database, in another place.
  fileprivate struct Copy {
    let from: String
    let to: String

    func make() throws {
      for suffix in ["", "-wal", "-journal"] {
        if FileManager.default.fileExists(atPath: from + suffix) {
          try FileManager.default.copyItem(atPath: from + suffix, toPath: to + suffix)
        }
      }
    }
  }

  /// The app's, whose step `slow` is interrupted: what a kill would leave is copied.
  private func migrator(
    _ steps: [String], slow: String? = nil, _ killed: Copy? = nil, first: String = creation
  ) -> DatabaseMigrator {
    let killed = killed ?? Copy(from: path, to: copy)
    var migrator = DatabaseMigrator()
    for step in [first] + steps {
      migrator.registerMigration(step) { db in
        try db.execute(sql: step)
        if step == slow { try killed.make() }
      }
    }
    return migrator
  }

  /// Two devices in agreement, of which the first died in the last of the steps.
  private func killed(_ steps: [String], _ journal: String = "WAL") throws -> Device {
    let database: any DatabaseWriter =
      journal == "WAL" ? try DatabasePool(path: path) : try DatabaseQueue(path: path)
    let a = try Device(database, v1, id: 1, migrator: migrator([]))
    let b = try Device(DatabaseQueue(), v1, id: 2, migrator: migrator([]))
    try a.execute(rows)
    try meet(a, b)
    _ = try Device(database, v2, id: 1, migrator: migrator(steps, slow: steps.last))
    return b
  }

  private func writeAsOthers(_ sql: String = others) throws {
    let database = try DatabaseQueue(path: copy)
    #expect(
      try database.read { db in
        try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master WHERE type = 'trigger'")
      } == 0)
    try database.write { try $0.execute(sql: sql) }
    try database.close()
  }

  private func reopened(_ steps: [String], _ schema: SyncSchema = v2) throws -> Device {
    try Device(DatabasePool(path: copy), schema, id: 1, migrator: migrator(steps))
  }

  @Test(arguments: ["WAL", "DELETE"])
  func `what others wrote after it is captured by the next opening`(_ journal: String) throws {
    let steps = ["ALTER TABLE book ADD COLUMN year DEFAULT 1900"]
    let b = try killed(steps, journal)
    try b.execute("UPDATE book SET scans = scans + 10, tags = '[\"water\"]' WHERE isbn = '1'")
    try writeAsOthers()
    let a = try reopened(steps)
    try meet(a, b)
    #expect(try a.rows(shown) == b.rows(shown))
    #expect(try a.store.canonicalState() == b.store.canonicalState())
    #expect(
      try b.column("SELECT title || length(note) || scans || text || seen FROM book LIMIT 1")
        == ["Dune!8215A wide desert9"])
    #expect(try b.column("SELECT tags FROM book WHERE isbn = '1'") == [#"["spice","water"]"#])
    #expect(try b.column("SELECT typeof(any) FROM book WHERE isbn = '2'") == ["blob"])
    #expect(try b.column("SELECT isbn FROM book ORDER BY isbn") == ["1", "2", "4"])
    // Nothing else is written, and nothing stays behind.
    #expect(try a.store.counts().operations == 3)
    #expect(try a.column("SELECT name FROM sqlite_master WHERE name LIKE '%lifted%'") == [])
    try expectNoFindings(a)
  }

  @Test func `only what was written is sent, and other columns are others'`() throws {
    let steps = ["ALTER TABLE book ADD COLUMN year DEFAULT 1900"]
    let b = try killed(steps)
    try b.execute("UPDATE book SET note = 'of b', any = 'of b'")
    try writeAsOthers("UPDATE book SET title = 'of others' WHERE isbn = '2'")
    let a = try reopened(steps)
    try meet(a, b)
    #expect(try a.column("SELECT note || any FROM book") == ["of bof b", "of bof b", "of bof b"])
    #expect(try b.column("SELECT title FROM book") == ["Dune", "of others", "Ulysses"])
  }

  @Test func `what a complete migration wrote before is its own, and what others wrote is not`()
    throws
  {
    let steps = ["UPDATE book SET title = upper(title)", "ALTER TABLE book ADD COLUMN year"]
    let b = try killed(steps)
    try writeAsOthers("UPDATE book SET note = 'of others' WHERE isbn = '2'")
    let a = try reopened(steps)
    try meet(a, b)
    #expect(try a.column("SELECT title FROM book") == ["DUNE", "EMMA", "ULYSSES"])
    #expect(try b.column("SELECT title FROM book") == ["Dune", "Emma", "Ulysses"])
    #expect(try b.column("SELECT note FROM book WHERE isbn = '2'") == ["of others"])
  }

  @Test func `an older version of the app that opens the file captures it too`() throws {
    let b = try killed(["ALTER TABLE book ADD COLUMN year"])
    try writeAsOthers()
    let a = try reopened([], v1)
    try meet(a, b)
    #expect(try a.rows(shown) == b.rows(shown))
    #expect(try b.column("SELECT scans FROM book WHERE isbn = '1'") == ["5"])
  }

  @Test func `a second death and a second opening lose nothing`() throws {
    let steps = ["ALTER TABLE book ADD COLUMN year DEFAULT 1900"]
    let b = try killed(steps)
    try writeAsOthers("UPDATE book SET title = 'first' WHERE isbn = '1'")
    // It notes what the first death left, lifts again, and its migration fails: triggers are back.
    #expect(throws: DatabaseError.self) { try reopened(["UPDATE nothing SET a = 1"]) }
    let database = try DatabaseQueue(path: copy)
    try database.write { try $0.execute(sql: "UPDATE book SET title = 'second' WHERE isbn = '2'") }
    try database.close()
    // And dies again, as it goes on.
    let killed = KilledMigrationTests.Copy(from: copy, to: path + ".again")
    _ = try Device(
      DatabasePool(path: copy), v2, id: 1, migrator: migrator(steps, slow: steps[0], killed))
    let again = try DatabaseQueue(path: killed.to)
    try again.write { try $0.execute(sql: "UPDATE book SET title = 'third' WHERE isbn = '3'") }
    let a = try Device(again, v2, id: 1, migrator: migrator(steps))
    try meet(a, b)
    #expect(try b.column("SELECT title FROM book") == ["first", "second", "third"])
    let count = try a.store.counts().operations
    _ = try Device(again, v2, id: 1, migrator: migrator(steps))
    #expect(try a.store.counts().operations == count)
  }

  @Test func `a replica that another process has open is told, and takes nothing in`() throws {
    let widget = try Device(DatabasePool(path: path), v1, id: 1, migrator: migrator([]))
    let b = try Device(DatabaseQueue(), v1, id: 2, migrator: migrator([]))
    try b.commit(rows)
    // The app's lifting, as far as it concerns who does not migrate.
    let app = try DatabaseQueue(path: path)
    try app.write { try $0.execute(sql: "CREATE TABLE grdb_tern_main_lifted (migrated)") }
    for _ in 0..<2 {
      let error = #expect(throws: ReplicaError.self) { try widget.pull(from: b) }
      #expect(error?.code == .schemaChanged)
      #expect(throws: ReplicaError.self) {
        try widget.store.write { try $0.execute(sql: "DELETE FROM book") }
      }
    }
    _ = try Device(app, v1, id: 1, migrator: migrator([]))
    try meet(widget, b)
    try expectEqual(widget, b, "book")
  }

  @Test(
    arguments: [
      "k TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (k, n)",
      "n INTEGER NOT NULL, k INTEGER NOT NULL, PRIMARY KEY (n, k)",
      "n BLOB NOT NULL, k TEXT NOT NULL DEFAULT 'k', PRIMARY KEY (n)",
      "n INTEGER NOT NULL, k INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (n)",
    ], [DeleteRule.deleteWins, .updateWins, .lastWriter])
  func `keys and rules for deletes of every kind are compared`(_ key: String, _ rule: DeleteRule)
    throws
  {
    let creation = "CREATE TABLE t (v TEXT NOT NULL, w, l, \(key)) WITHOUT ROWID"
    let added = "ALTER TABLE t ADD COLUMN x"
    let schema = SyncSchema(version: 1, tables: [SyncTable("t", deletes: rule, local: ["l"])])
    func migrator(_ steps: [String], _ killed: Copy? = nil) -> DatabaseMigrator {
      self.migrator(steps, slow: killed == nil ? nil : added, killed, first: creation)
    }
    let database = try DatabaseQueue(path: path)
    let a = try Device(database, schema, id: 1, migrator: migrator([]))
    let b = try Device(DatabaseQueue(), schema, id: 2, migrator: migrator([]))
    try a.execute(
      "INSERT INTO t (v, l, k, n) VALUES ('a', 'l', 1, 1), ('b', 'l', 1, 2), ('c', 'l', 1, 3)")
    try meet(a, b)
    _ = try Device(database, schema, id: 1, migrator: migrator([added], Copy(from: path, to: copy)))
    let others = try DatabaseQueue(path: copy)
    try others.write { db in
      try db.execute(sql: "DELETE FROM t WHERE n = 1; UPDATE t SET v = 'B' WHERE n = 2")
      try db.execute(sql: "INSERT INTO t (v, k, n) VALUES ('d', 1, 4)")
    }
    try b.execute("UPDATE t SET w = 'of b'")
    // Opening takes less than a millisecond, and equal times go by the replica's id.
    try delay(b, after: b)
    let again = try Device(others, schema, id: 1, migrator: migrator([added]))
    try meet(again, b)
    try meet(again, b)
    let synced = "SELECT k, n, v, w FROM t ORDER BY n"
    #expect(try again.rows(synced) == b.rows(synced))
    #expect(try again.store.canonicalState() == b.store.canonicalState())
    let values = try again.column("SELECT v FROM t ORDER BY n")
    // What others deleted was deleted after what b wrote.
    #expect(values == (rule == .updateWins ? ["a", "B", "c", "d"] : ["B", "c", "d"]))
    try expectNoFindings(again)
  }

  private func expectNoFindings(_ device: Device) throws {
    let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
    #expect(diagnosis.findings.map { "\($0)" } == [])
  }
}
