import GRDB
import Tern
import Testing

/// What cannot be re-keyed, the code and what the message has to say.
struct RekeyRefusal: Sendable, CustomTestStringConvertible {
  var creation: String
  var table = "t"
  var identifiers = RekeyIdentifiers.random
  var references: [RekeyedColumn] = []
  var code: RekeyError.Code
  /// Where it says that the fault is.
  var place: String
  var says: String
  var testDescription: String { creation + " " + says }

  private static let key = "CREATE TABLE t (id INTEGER PRIMARY KEY, a); "

  static let all: [RekeyRefusal] = [
    RekeyRefusal(creation: "", code: .missingTable, place: "t", says: "no such table"),
    RekeyRefusal(
      creation: "CREATE VIEW t AS SELECT 1 AS id", code: .notATable, place: "t",
      says: "table behind it"),
    RekeyRefusal(
      creation: "CREATE VIRTUAL TABLE t USING fts5(a)", code: .notATable, place: "t",
      says: "table behind it"),
    RekeyRefusal(
      creation: "CREATE TABLE x (id INTEGER PRIMARY KEY AUTOINCREMENT)", table: "sqlite_sequence",
      code: .notATable, place: "sqlite_sequence", says: "app's ordinary tables"),
    RekeyRefusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY)", code: .noIntegerKey, place: "t",
      says: "type TEXT and not one integer"),
    RekeyRefusal(
      creation: "CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))", code: .noIntegerKey,
      place: "t",
      says: "(a, b)"),
    RekeyRefusal(
      creation: "CREATE TABLE t (ID, a)", code: .columnExists, place: "t.id", says: "addedKey:"),
    RekeyRefusal(
      creation: "CREATE TABLE t (rowid, _rowid_, oid)", code: .noIntegerKey, place: "t",
      says: "rename one"),
    RekeyRefusal(
      creation:
        "CREATE TABLE p (id INTEGER PRIMARY KEY); "
        + "CREATE TABLE t (id INTEGER PRIMARY KEY REFERENCES p)",
      code: .keyIsReference, place: "t.id", says: "re-key that one"),
    RekeyRefusal(
      creation: key + "CREATE TABLE p (id INTEGER PRIMARY KEY); "
        + "CREATE TABLE c (x INT REFERENCES t REFERENCES p)", code: .otherReference, place: "c.x",
      says: "“t” and to “p”"),
    RekeyRefusal(
      creation: key, references: [RekeyedColumn("u", "x")], code: .missingTable, place: "u",
      says: "refer to “t”"),
    RekeyRefusal(
      creation: key, references: [RekeyedColumn("t", "x")], code: .unknownColumn, place: "t.x",
      says: "correct the name"),
    RekeyRefusal(
      creation: key + "CREATE TABLE c (x INT DEFAULT 1 REFERENCES t)", code: .referenceDefault,
      place: "c.x",
      says: "default 1"),
    RekeyRefusal(
      creation: key + "CREATE TABLE c (a, x INT AS (a + 1) REFERENCES t)",
      code: .generatedReference,
      place: "c.x", says: "computed"),
    RekeyRefusal(
      creation: key + "CREATE VIRTUAL TABLE f USING fts5(a, content = 'T', content_rowid='id')",
      code: .contentOfSearch, place: "t.id", says: "full-text table “f”"),
    RekeyRefusal(
      creation: key + "CREATE TABLE c (t INTEGER PRIMARY KEY REFERENCES t, x); "
        + "CREATE VIRTUAL TABLE f USING fts4(x, content=\"c\")",
      code: .contentOfSearch, place: "c.t", says: "drop it with its triggers"),
    RekeyRefusal(
      creation: key + "CREATE TABLE c (x); "
        + "CREATE TRIGGER adding AFTER INSERT ON c BEGIN INSERT INTO T (a) VALUES (NEW.x); END",
      code: .keylessTrigger, place: "t.id", says: "trigger “adding” on “c”"),
    RekeyRefusal(
      creation: "CREATE TABLE t (a); CREATE TABLE c (x); "
        + "CREATE TRIGGER adding AFTER INSERT ON c BEGIN INSERT INTO t VALUES (NEW.x); END",
      code: .keylessTrigger, place: "t.id", says: "newKeySQL"),
    RekeyRefusal(
      creation: key + "CREATE TABLE c (t INTEGER PRIMARY KEY REFERENCES t, x); "
        + "CREATE TRIGGER adding AFTER INSERT ON t BEGIN INSERT INTO c (x) VALUES (1); END",
      code: .keylessTrigger, place: "c.t", says: "trigger “adding” on “t”"),
    RekeyRefusal(
      creation: "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (NULL), ('x')",
      code: .notANumber, place: "t.id", says: "in 2 rows"),
    RekeyRefusal(
      creation: key
        + "CREATE TABLE c (x); INSERT INTO t VALUES (1, 1); "
        + "INSERT INTO c VALUES (1), (2), (NULL), ('y')",
      references: [RekeyedColumn("c", "x")], code: .missingRow, place: "c.x", says: "in 2 rows"),
    RekeyRefusal(
      creation: key + "INSERT INTO t VALUES (1, 'x'), (2, NULL)",
      identifiers: .derived(from: ["a"]),
      code: .unnamedRow, place: "t.a", says: "where: \"a IS NOT NULL\""),
    RekeyRefusal(
      creation: key + "INSERT INTO t VALUES (1, 'secret'), (2, 'secret')",
      identifiers: .derived(from: ["A"]),
      code: .sameRow, place: "t", says: "the same in A"),
    RekeyRefusal(
      creation: key, identifiers: .derived(from: ["b"]), code: .unknownColumn, place: "t.b",
      says: "derived"),
    RekeyRefusal(
      creation: key, identifiers: .derived(from: []), code: .unknownColumn, place: "t",
      says: "no column"),
    RekeyRefusal(
      creation: "CREATE TABLE t (id INTEGER PRIMARY KEY, a REFERENCES t)",
      identifiers: .derived(from: ["a"]),
      code: .unknownColumn, place: "t.a", says: "this same table"),
    RekeyRefusal(
      creation:
        "CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (typeof(id) = 'integer')); "
        + "INSERT INTO t VALUES (1)",
      code: .refusedRow, place: "t", says: "CHECK constraint failed"),
    RekeyRefusal(
      creation: key
        + "CREATE TABLE c (x INT REFERENCES t CHECK (typeof(x) = 'integer')); INSERT INTO t VALUES (1, 1); "
        + "INSERT INTO c VALUES (1)", code: .refusedRow, place: "c", says: "change the constraint"),
  ]
}

@Suite("Rekey: what cannot be re-keyed")
struct RekeyRefusalTests {
  @Test(arguments: RekeyRefusal.all, [true, false])
  func `what cannot be re-keyed is refused by name, and nothing is changed`(
    _ refusal: RekeyRefusal, _ isEnforcing: Bool
  ) throws {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = isEnforcing
    let database = try DatabaseQueue(configuration: configuration)
    try database.write { try $0.execute(sql: refusal.creation) }
    let before = try database.dump()
    // The migration goes on after the error, and commits.
    let error = try database.write { db in
      #expect(throws: RekeyError.self) {
        try db.rekeyForSync(
          refusal.table, identifiers: refusal.identifiers, references: refusal.references)
      }
    }
    let place = [error?.table, error?.column].compactMap { $0 }.joined(separator: ".")
    #expect(error?.code == refusal.code)
    #expect(place == refusal.place)
    #expect(error?.message.contains(refusal.says) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("secret") == false)
    #expect(try database.dump() == before)
    #expect(try database.lines("PRAGMA foreign_keys") == [isEnforcing ? "1" : "0"])
    #expect(try database.lines("PRAGMA legacy_alter_table") == ["0"])
    #expect(try database.lines("SELECT count(*) FROM sqlite_temp_master") == ["0"])
  }

  @Test func `rows without the parent that is declared are refused, and others are not asked`()
    throws
  {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = false
    let database = try DatabaseQueue(configuration: configuration)
    try database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE p (id TEXT NOT NULL PRIMARY KEY);
          CREATE TABLE b (a INT REFERENCES a, p REFERENCES p);
          INSERT INTO a VALUES (1); INSERT INTO b VALUES (1, 'gone'), (2, NULL);
          """)
    }
    let before = try database.dump()
    let error = #expect(throws: RekeyError.self) {
      try database.write { _ = try $0.rekeyForSync("a") }
    }
    #expect(error?.code == .missingRow && error?.column == "a")
    #expect(try database.dump() == before)
    try database.write { db in
      try db.execute(sql: "DELETE FROM b WHERE a = 2")
      try db.rekeyForSync("a")
    }
    #expect(try database.lines("SELECT count(*) FROM b JOIN a ON a.id = b.a") == ["1"])
  }
}
