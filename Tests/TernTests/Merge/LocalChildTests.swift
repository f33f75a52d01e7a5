import GRDB
import TestDevice
import Testing

@testable import Tern

/// Rows of tables that do not sync, whose parent another device deletes.
@Suite("Merge: local rows of a deleted parent")
struct LocalChildTests {
  @Test(arguments: [
    ("ON DELETE CASCADE", ["b"]), ("ON DELETE SET NULL", [nil, "b"]),
    ("without a type", ["b"]),
    ("DEFAULT 'b' REFERENCES list ON DELETE SET DEFAULT", ["b", "b"]),
    ("DEFAULT (lower('B')) REFERENCES list ON DELETE SET DEFAULT", ["b", "b"]),
    ("REFERENCES list ON DELETE SET DEFAULT", [nil, "b"]),
    // What can't be done leaves the row as it is.
    ("DEFAULT 'no' REFERENCES list ON DELETE SET DEFAULT", ["a", "b"]),
    (
      "DEFAULT 'no' REFERENCES list ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED",
      ["a", "b"]
    ),
    ("NOT NULL REFERENCES list ON DELETE SET NULL", ["a", "b"]),
    ("REFERENCES list", ["a", "b"]), ("REFERENCES list ON DELETE RESTRICT", ["a", "b"]),
  ])
  func `INV-15: become what their foreign key declares`(_ key: String, _ left: [String?]) throws {
    var column = key.contains("REFERENCES") ? "TEXT \(key)" : "TEXT REFERENCES list \(key)"
    if key == "without a type" { column = "REFERENCES list ON DELETE CASCADE" }
    let (a, b) = try LocalChild.pair(
      "CREATE TABLE pin (n INTEGER PRIMARY KEY, list \(column))",
      "INSERT INTO pin VALUES (1, 'a'), (2, 'b')")
    let operations = try a.store.counts().operations
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM pin ORDER BY n") == left)
    // Nothing of it is a write of this device.
    try a.store.seal()
    #expect(try a.store.counts().operations == operations + 1)
    #expect(try LocalChild.notedParents(of: a) == 0)
    try expectSameState(a, b)
  }

  @Test(arguments: [
    (Database.ForeignKeyAction.cascade, ["b"]), (.setNull, [nil, "b"]), (.restrict, ["a", "b"]),
    (nil, ["a", "b"]),
  ])
  func `become what the schema says where their foreign key says nothing`(
    _ rule: Database.ForeignKeyAction?, _ left: [String?]
  ) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("list", unsyncedChildren: rule)])
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (n INTEGER PRIMARY KEY, list TEXT REFERENCES list);
      CREATE TABLE mark (n INTEGER PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE)
      """, "INSERT INTO pin VALUES (1, 'a'), (2, 'b'); INSERT INTO mark VALUES (1, 'a')", schema)
    #expect(
      try a.store.counts().openReferences
        == (rule == nil ? ["“pin” (list) to “list”: NO ACTION"] : []))
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM pin ORDER BY n") == left)
    #expect(try a.column("SELECT list FROM mark") == [])
  }

  @Test func `are named at opening where their columns can't be followed`() throws {
    let (a, _) = try Device.pair(
      LocalChild.schema,
      """
      CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE);
      CREATE TABLE pin (name TEXT REFERENCES list (name) ON DELETE CASCADE);
      CREATE TABLE plain (list REFERENCES list ON DELETE CASCADE);
      CREATE TABLE strict (list TEXT REFERENCES list ON DELETE RESTRICT);
      """)
    #expect(
      try a.store.counts().openReferences == [
        "“pin” (name) to “list”: not by its key", "“strict” (list) to “list”: RESTRICT",
      ])
    #expect("\(try a.store.counts())".contains("references without an action: “pin”"))
  }

  @Test(arguments: ["", "WITHOUT ROWID"])
  func `follow keys of several columns, in any order and with any name`(_ end: String) throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("my \"list")])
    let (a, b) = try Device.pair(
      schema,
      """
      CREATE TABLE "my ""list" (
        "a 1" TEXT NOT NULL, "b""2" INTEGER NOT NULL, PRIMARY KEY ("a 1", "b""2"));
      CREATE TABLE "its pin's" (
        "n o" INTEGER NOT NULL, k TEXT NOT NULL, "x""y" INTEGER, "y'" TEXT COLLATE NOCASE,
        PRIMARY KEY (k, "n o"),
        FOREIGN KEY ("x""y", "y'") REFERENCES "my ""list" ("b""2", "a 1") ON DELETE CASCADE) \(end)
      """)
    try b.commit("INSERT INTO \"my \"\"list\" VALUES ('p', 1), ('p', 2), ('P', 1)")
    try a.pull(from: b)
    try a.execute(
      "INSERT INTO \"its pin's\" VALUES (1, 'k', 1, 'p'), (2, 'k', 2, 'p'), (3, 'k', 1, 'P'), "
        + "(4, 'k', 1, NULL)")
    try b.commit("DELETE FROM \"my \"\"list\" WHERE \"a 1\" = 'p' AND \"b\"\"2\" = 1")
    try a.pull(from: b)
    #expect(try a.column("SELECT \"n o\" FROM \"its pin's\" ORDER BY 1") == ["2", "3", "4"])
  }

  @Test(arguments: [
    ("CASCADE", "CASCADE", ["y"]), ("CASCADE", "SET NULL", [nil, "y"]),
    ("SET NULL", "CASCADE", ["x", "y"]), ("CASCADE", "RESTRICT", ["x", "y"]),
    ("CASCADE", "NO ACTION DEFERRABLE INITIALLY DEFERRED", ["x", "y"]),
  ])
  func `take along what refers to them, as SQLite does`(
    _ first: String, _ second: String, _ left: [String?]
  ) throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE \(first));
      CREATE TABLE tack (n INTEGER PRIMARY KEY, pin TEXT REFERENCES pin ON DELETE \(second))
      """,
      "INSERT INTO pin VALUES ('x', 'a'), ('y', 'b'); INSERT INTO tack VALUES (1, 'x'), (2, 'y')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT pin FROM tack ORDER BY n") == left)
    let isRefused = second.hasPrefix("RESTRICT") || second.hasPrefix("NO ACTION")
    #expect(
      try a.column("SELECT list FROM pin ORDER BY id")
        == (isRefused ? ["a", "b"] : first == "CASCADE" ? ["b"] : [nil, "b"]))
  }

  @Test(arguments: ["NO ACTION", "SET DEFAULT"])
  func `stay where several go at once, and one of them can't`(_ action: String) throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TABLE tack (pin TEXT DEFAULT 'no' REFERENCES pin ON DELETE \(action))
      """,
      "INSERT INTO pin VALUES ('1', 'a'), ('2', 'a'), ('3', 'a'); INSERT INTO tack VALUES ('1')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT id FROM pin ORDER BY id") == ["1"])
    #expect(try a.column("SELECT pin FROM tack") == ["1"])
  }

  @Test func `take along an update of what they are known by`() throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (
        n INTEGER PRIMARY KEY, list TEXT UNIQUE REFERENCES list ON DELETE SET NULL);
      CREATE TABLE tack (list TEXT REFERENCES pin (list) ON UPDATE CASCADE)
      """,
      "INSERT INTO pin VALUES (1, 'a'), (2, 'b'); INSERT INTO tack VALUES ('a'), ('b')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM tack ORDER BY list") == [nil, "b"])
  }

  @Test func `go with all that refer to each other`() throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE reply (
        n INTEGER PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE,
        above INTEGER REFERENCES reply ON DELETE CASCADE)
      """,
      "INSERT INTO reply VALUES (1, 'a', NULL), (2, 'b', 1), (3, NULL, 2), (4, 'b', NULL)")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT n FROM reply") == ["4"])
  }

  @Test func `stay one by one where a constraint refuses one of them`() throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (
        n INTEGER PRIMARY KEY, list TEXT REFERENCES list ON DELETE SET NULL, isFree INTEGER,
        CHECK (isFree OR list IS NOT NULL))
      """, "INSERT INTO pin VALUES (1, 'a', 1), (2, 'a', 0), (3, 'a', 1)")
    try b.commit("DELETE FROM list WHERE id = 'a'; INSERT INTO list VALUES ('c', 'C')")
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM pin ORDER BY n") == [nil, "a", nil])
    #expect(try a.column("SELECT id FROM list ORDER BY id") == ["b", "c"])
    let findings = try a.database.read { try DatabaseDiagnosis($0).findings }
    #expect(findings.map(\.check) == ["sqlite-references"])
  }

  @Test func `run the app's triggers that a merge runs, and no others`() throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (n INTEGER PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TABLE past (n INTEGER);
      CREATE TRIGGER mirror AFTER DELETE ON pin BEGIN INSERT INTO past VALUES (OLD.n); END;
      CREATE TRIGGER writes AFTER DELETE ON pin BEGIN
        INSERT INTO list VALUES ('of the trigger', 'T'); END;
      """, "INSERT INTO pin VALUES (1, 'a')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT n FROM pin") == [])
    #expect(try a.column("SELECT n FROM past") == ["1"])
    #expect(try a.column("SELECT id FROM list") == ["b"])
    try a.store.seal()
    try expectSameState(a, b)
    // They are there for the app's own writes.
    try a.execute("INSERT INTO pin VALUES (2, 'b'); DELETE FROM pin")
    #expect(try a.column("SELECT id FROM list ORDER BY id") == ["b", "of the trigger"])
  }

  @Test func `are observed as any other write`() throws {
    let (a, b) = try LocalChild.pair(
      """
      CREATE TABLE pin (id TEXT PRIMARY KEY, list TEXT REFERENCES list ON DELETE CASCADE);
      CREATE TABLE tack (pin TEXT REFERENCES pin ON DELETE CASCADE)
      """, "INSERT INTO pin VALUES ('x', 'a'); INSERT INTO tack VALUES ('x')")
    nonisolated(unsafe) var changes = 0
    let observation = DatabaseRegionObservation(tracking: Table("tack"))
      .start(in: a.database, onError: { _ in }, onChange: { _ in changes += 1 })
    try b.commit("INSERT INTO list VALUES ('c', 'C')")
    try a.pull(from: b)
    #expect(changes == 0)
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(changes == 1)
    observation.cancel()
  }

  @Test func `stay where the app has foreign keys off`() throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let creation =
      LocalChild.list + "CREATE TABLE pin (list TEXT REFERENCES list ON DELETE CASCADE)"
    let (a, b) = (
      try Device(
        LocalChild.schema, id: 1, database: DatabaseQueue(configuration: configuration)
      ) { try $0.execute(sql: creation) },
      try Device(LocalChild.schema, id: 2) { try $0.execute(sql: creation) }
    )
    try LocalChild.fill(a, b, "INSERT INTO pin VALUES ('a')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.column("SELECT list FROM pin") == ["a"])
    #expect(try LocalChild.notedParents(of: a) == 0)
  }

  @Test func `cost nothing where there are none`() throws {
    let (a, b) = try LocalChild.pair(
      "CREATE TABLE pin (list TEXT); CREATE TABLE tack (pin INTEGER REFERENCES pin)",
      "INSERT INTO pin VALUES ('a')")
    try b.commit("DELETE FROM list WHERE id = 'a'")
    try a.pull(from: b)
    #expect(try a.rareTables() == [])
    #expect(try a.column("SELECT list FROM pin") == ["a"])
  }
}

private func expectSameState(_ a: Device, _ b: Device) throws {
  #expect(try a.store.canonicalState() == b.store.canonicalState())
  #expect(try a.exactly("list") == b.exactly("list"))
}
