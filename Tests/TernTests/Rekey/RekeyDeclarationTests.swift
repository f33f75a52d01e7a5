import GRDB
import Tern
import Testing

/// A declaration before and after, byte for byte.
struct Declaration: Sendable, CustomTestStringConvertible {
  var table = "t"
  var before: String
  var after: String
  var others: [String] = []
  var testDescription: String { before }

  static let all: [Declaration] = [
    Declaration(
      before: "CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
      after: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)"),
    Declaration(
      before:
        "CREATE TABLE t (a, b DEFAULT (max(1, 2)), \"id\" integer not null constraint pk "
        + "primary key autoincrement, c DECIMAL(10, 2))",
      after:
        "CREATE TABLE t (a, b DEFAULT (max(1, 2)), \"id\" TEXT not null constraint pk "
        + "primary key , c DECIMAL(10, 2))"),
    Declaration(
      before: "CREATE TABLE t (id INTEGER, a TEXT, PRIMARY KEY (id AUTOINCREMENT))",
      after: "CREATE TABLE t (id TEXT NOT NULL, a TEXT, PRIMARY KEY (id ))"),
    Declaration(
      before: "CREATE TABLE t ([id] \"INTEGER\" DEFAULT -1 COLLATE NOCASE PRIMARY KEY DESC, a)",
      after: "CREATE TABLE t ([id] TEXT NOT NULL   PRIMARY KEY DESC, a)"),
    Declaration(
      before:
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY ON CONFLICT IGNORE, a ANY) "
        + "WITHOUT ROWID, STRICT",
      after:
        "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY ON CONFLICT IGNORE, a ANY) "
        + "WITHOUT ROWID, STRICT"),
    Declaration(
      before: """
        CREATE TABLE t ( -- a ( in a comment, and a ,
          id INTEGER PRIMARY KEY, /* ) */
          parent UNSIGNED BIG INT REFERENCES t(id) ON DELETE CASCADE,
          'quoted, name' VARCHAR(255) DEFAULT 'it''s (',
          next REFERENCES t, code CHAR(36) REFERENCES t,
          CHECK ('parent' <> ')'), FOREIGN KEY (next) REFERENCES t)
        """,
      after: """
        CREATE TABLE t ( -- a ( in a comment, and a ,
          id TEXT NOT NULL PRIMARY KEY, /* ) */
          parent TEXT REFERENCES t(id) ON DELETE CASCADE,
          'quoted, name' VARCHAR(255) DEFAULT 'it''s (',
          next TEXT REFERENCES t, code CHAR(36) REFERENCES t,
          CHECK ('parent' <> ')'), FOREIGN KEY (next) REFERENCES t)
        """),
    Declaration(
      table: "a \"table\"",
      before:
        "CREATE TABLE \"a \"\"table\"\"\" (\"an \"\"id\"\"\" INTEGER PRIMARY KEY, `b` AS (a) , a)",
      after:
        "CREATE TABLE \"a \"\"table\"\"\" (\"an \"\"id\"\"\" TEXT NOT NULL PRIMARY KEY, "
        + "`b` AS (a) , a)"
    ),
    Declaration(
      before:
        "CREATE TABLE t (a TEXT COLLATE RTRIM UNIQUE, b GENERATED ALWAYS AS (a || 'x') STORED, "
        + "id INTEGER PRIMARY KEY)",
      after:
        "CREATE TABLE t (a TEXT COLLATE RTRIM UNIQUE, b GENERATED ALWAYS AS (a || 'x') STORED, "
        + "id TEXT NOT NULL PRIMARY KEY)",
      others: [
        "CREATE INDEX partial ON t (a DESC) WHERE b IS NOT NULL",
        "CREATE UNIQUE INDEX expression ON t (lower(a), b COLLATE NOCASE)",
        "CREATE VIEW shown AS SELECT t.a FROM main.t",
        "CREATE VIEW broken AS SELECT x FROM nowhere",
        "CREATE TRIGGER firing AFTER UPDATE OF a ON t BEGIN SELECT RAISE(ABORT, 'fired'); END",
        "CREATE TRIGGER inserting BEFORE INSERT ON \"t\" BEGIN SELECT RAISE(ABORT, 'fired'); END",
        "CREATE TRIGGER shown_insert INSTEAD OF INSERT ON shown BEGIN "
          + "INSERT INTO t (id, a) VALUES (NEW.a, NEW.a); END",
        "CREATE TABLE u (n)",
        "CREATE TRIGGER elsewhere AFTER INSERT ON u BEGIN DELETE FROM t WHERE id = NEW.n; END",
      ]),
  ]
}

@Suite("Rekey: declarations before and after")
struct RekeyDeclarationTests {
  @Test(arguments: Declaration.all)
  func `a declaration stays as it was written, but for the key and what refers to it`(
    _ declaration: Declaration
  ) throws {
    let database = try queue(declaration.before)
    try database.write { db in
      for other in declaration.others { try db.execute(sql: other) }
    }
    let objects =
      "SELECT type, name, tbl_name, sql FROM sqlite_master "
      + "WHERE type <> 'table' AND sql IS NOT NULL ORDER BY name"
    let before = try database.lines(objects)
    try database.write { _ = try $0.rekeyForSync(declaration.table) }
    #expect(try database.declaration(declaration.table) == declaration.after)
    #expect(try database.lines(objects) == before)
    #expect(try database.lines("PRAGMA integrity_check") == ["\"ok\""])
    let again = #expect(throws: RekeyError.self) {
      try database.write { _ = try $0.rekeyForSync(declaration.table) }
    }
    #expect(again?.code == .noIntegerKey)
    #expect(try database.declaration(declaration.table) == declaration.after)
  }

  @Test func `no trigger fires for the rewriting, and all of them afterwards`() throws {
    let database = try queue(
      """
      CREATE TABLE a (id INTEGER PRIMARY KEY, n);
      CREATE TABLE b (a INT REFERENCES a ON DELETE CASCADE ON UPDATE CASCADE);
      CREATE TABLE log (what);
      INSERT INTO a VALUES (1, 'x'); INSERT INTO b VALUES (1);
      """)
    try database.write { db in
      for (table, event) in ["a", "b"].flatMap({ table in
        ["INSERT", "UPDATE", "DELETE"].map { (table, $0) }
      }) {
        for kind in ["", "TEMP"] {
          let name = "\(kind)\(table)_\(event)"
          try db.execute(
            sql: "CREATE \(kind) TRIGGER \(name) AFTER \(event) ON \(table) "
              + "BEGIN INSERT INTO log VALUES ('\(name)'); END")
        }
      }
      try db.rekeyForSync("a")
    }
    #expect(try database.lines("SELECT * FROM log").isEmpty)
    try database.write { try $0.execute(sql: "DELETE FROM a") }
    #expect(
      try database.lines("SELECT * FROM log ORDER BY 1")
        == ["\"TEMPa_DELETE\"", "\"TEMPb_DELETE\"", "\"a_DELETE\"", "\"b_DELETE\""])
  }

  @Test func `triggers and indexes that spell the table in another case stay`() throws {
    let database = try queue(
      """
      CREATE TABLE book (id INTEGER PRIMARY KEY, t); CREATE INDEX ByT ON BOOK (t);
      CREATE TABLE log (what)
      """)
    try database.write { db in
      for kind in ["", "TEMP"] {
        try db.execute(
          sql: "CREATE \(kind) TRIGGER \(kind)x AFTER INSERT ON Book "
            + "BEGIN INSERT INTO log VALUES (1); END")
      }
      try db.rekeyForSync("book")
      try db.execute(sql: "INSERT INTO book (id) VALUES ('x')")
    }
    #expect(try database.lines("SELECT count(*) FROM log") == ["2"])
    #expect(
      try database.lines("SELECT name FROM pragma_index_list('book') WHERE origin = 'c'")
        == ["\"ByT\""])
  }

  @Test func `temporary triggers whose names differ in their bytes alone stay`() throws {
    let database = try queue("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE log (what)")
    // Equal to Swift.
    let names = ["cafe\u{301}", "caf\u{e9}"]
    try database.write { db in
      for name in names {
        try db.execute(
          sql: """
            CREATE TEMP TRIGGER "\(name)" AFTER INSERT ON a BEGIN INSERT INTO log VALUES (1); END
            """)
      }
      try db.rekeyForSync("a")
      try db.execute(sql: "INSERT INTO a (id) VALUES ('x')")
    }
    #expect(try database.lines("SELECT count(*) FROM log") == ["2"])
  }

  @Test func `a temporary table of the same name is left alone`() throws {
    let database = try queue(
      "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE INDEX i ON a (id); INSERT INTO a VALUES (1)")
    try database.write { db in
      try db.execute(
        sql: "CREATE TEMP TABLE a (id INTEGER PRIMARY KEY, x); INSERT INTO temp.a VALUES (5, 6)")
      try db.rekeyForSync("a")
    }
    #expect(try database.lines("SELECT * FROM temp.a") == ["5|6"])
    #expect(try database.lines("SELECT typeof(id) FROM main.a") == ["\"text\""])
    #expect(
      try database.lines("SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL")
        == ["\"i\""])
  }
}
