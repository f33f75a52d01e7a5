import GRDB
import Tern
import TestDevice
import Testing

/// A declaration that cannot sync, the code and what the message has to say.
struct Refusal: Sendable, CustomTestStringConvertible {
  var creation: String
  var table = SyncTable("t")
  var code: SchemaError.Code
  var column: String?
  var says: String
  var testDescription: String { creation.isEmpty ? table.name : creation }

  static let all: [Refusal] = [
    Refusal(creation: "", code: .missingTable, says: "create it in a migration"),
    Refusal(creation: "CREATE VIEW t AS SELECT 1 AS a", code: .notATable, says: "table behind it"),
    Refusal(
      creation: "CREATE VIRTUAL TABLE t USING fts5(a)", code: .notATable, says: "ordinary tables"),
    Refusal(
      creation: "CREATE TEMP TABLE t (id TEXT NOT NULL PRIMARY KEY)", code: .missingTable,
      says: "no such table"),
    Refusal(
      creation: "", table: SyncTable("grdb_tern_main_log"), code: .notATable, says: "Tern's own"),
    Refusal(creation: "CREATE TABLE t (a, b)", code: .noPrimaryKey, says: "declare a primary key"),
    Refusal(
      creation: "CREATE TABLE t (id INTEGER PRIMARY KEY, a)", code: .integerRowIDKey, column: "id",
      says: "TEXT or BLOB key"),
    Refusal(
      creation: "CREATE TABLE t (id INTEGER NOT NULL, a, PRIMARY KEY (id))", code: .integerRowIDKey,
      column: "id", says: "the same number"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT PRIMARY KEY, a)", code: .nullableKey, column: "id",
      says: "NOT NULL"),
    Refusal(
      creation: "CREATE TABLE t (a TEXT NOT NULL, b TEXT, PRIMARY KEY (a, b))", code: .nullableKey,
      column: "b", says: "NOT NULL"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, s INTEGER REFERENCES sound)",
      code: .unsupportedReference, column: "s", says: "refers to sound.id"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, s ANY REFERENCES sound)",
      code: .unsupportedReference, column: "s", says: "“ANY”"),
    Refusal(
      creation: "CREATE TABLE t (id ANY NOT NULL PRIMARY KEY, a)", code: .unsupportedKey,
      column: "id", says: "“ANY”"),
    Refusal(
      creation: "CREATE TABLE t (id INT PRIMARY KEY, up TEXT REFERENCES t) WITHOUT ROWID",
      code: .unsupportedReference, column: "up", says: "“INT”"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n UNIQUE, up INT, "
        + "FOREIGN KEY (up) REFERENCES t (n))", code: .unsupportedReference, column: "up",
      says: "refers to t.n"),
    Refusal(
      creation: "CREATE TABLE t (id REAL NOT NULL PRIMARY KEY, a)", code: .unsupportedKey,
      column: "id", says: "TEXT, BLOB or INTEGER"),
    Refusal(
      creation: "CREATE TABLE t (id NUMERIC NOT NULL PRIMARY KEY, a)", code: .unsupportedKey,
      column: "id", says: "“NUMERIC”"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, a)",
      code: .unsupportedKey, column: "id", says: "COLLATE BINARY"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT COLLATE NOCASE NOT NULL, a, "
        + "PRIMARY KEY (id COLLATE BINARY))", code: .unsupportedKey, column: "id", says: "NOCASE"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT COLLATE RTRIM PRIMARY KEY, a) WITHOUT ROWID",
      code: .unsupportedKey, column: "id", says: "RTRIM"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, caf\u{e9}, cafe\u{301})",
      code: .ambiguousColumn, column: "cafe\u{301}", says: "rename one"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a UNIQUE)",
      table: SyncTable("t", local: ["a"]), code: .uniqueBesideKey, column: "a", says: "local"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, g UNIQUE AS (a + 1))",
      code: .uniqueBesideKey, column: "a", says: "whole number"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, UNIQUE (id, a), UNIQUE (a))",
      table: SyncTable("t", merge: ["a": .max]), code: .uniqueBesideKey, column: "a",
      says: "let it be .lastWriter"),
    // ON CONFLICT (a, b) would update the row with the same b.
    Refusal(
      creation: "CREATE TABLE t (a INTEGER, b INTEGER, c, PRIMARY KEY (a, b)) WITHOUT ROWID; "
        + "CREATE UNIQUE INDEX i ON t (b, B)", code: .uniqueBesideKey, column: "b",
      says: "name each column once"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a); "
        + "CREATE UNIQUE INDEX i ON t (a) WHERE a LIKE 'x%'", code: .uniqueBesideKey,
      says: "LIKE"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a); "
        + "CREATE UNIQUE INDEX i ON t (printf('%s', a))", code: .uniqueBesideKey,
      says: "a column of its own"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)",
      table: SyncTable("t", merge: ["b": .max]), code: .unknownColumn, column: "b",
      says: "no such column"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a, g AS (a))",
      table: SyncTable("t", local: ["g"]), code: .unknownColumn, column: "g", says: "generated"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)",
      table: SyncTable("t", local: ["id"]), code: .unknownColumn, column: "id", says: "the key"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a)",
      table: SyncTable("t", formerColumnNames: ["new": "a"]), code: .unknownColumn, column: "new",
      says: "correct the name"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a INTEGER)",
      table: SyncTable("t", merge: ["a": .counter]), code: .unsupportedRule, column: "a",
      says: "INTEGER NOT NULL"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a REAL NOT NULL DEFAULT 0)",
      table: SyncTable("t", merge: ["a": .counter]), code: .unsupportedRule, column: "a",
      says: "whole numbers"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a INTEGER NOT NULL)",
      table: SyncTable("t", merge: ["a": .max, "A": .min]), code: .unsupportedRule, column: "A",
      says: "twice"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a INTEGER NOT NULL DEFAULT 0)",
      table: SyncTable("t", merge: ["a": .counter], local: ["a"]), code: .unsupportedRule,
      column: "a", says: "local"),
    Refusal(
      creation: "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, a TEXT NOT NULL)",
      table: SyncTable("t", local: ["a"]), code: .localWithoutDefault, column: "a",
      says: "give it a default"),
  ]
}

private let sound = "CREATE TABLE sound (id TEXT NOT NULL PRIMARY KEY, a)"

private func open(_ database: DatabaseQueue, _ tables: SyncTable...) throws -> Device {
  try Device(database, SyncSchema(version: 1, tables: tables), id: 1)
}

@Suite("Schema: declarations that cannot sync")
struct GuestRefusalTests {
  @Test(arguments: Refusal.all)
  func `what cannot sync is refused by name, and nothing is changed`(_ refusal: Refusal) throws {
    let database = try DatabaseQueue()
    let migrator = DatabaseMigrator.steps(
      [sound] + (refusal.creation.isEmpty ? [] : [refusal.creation]))
    let error = #expect(throws: SchemaError.self) {
      try Device(
        database, SyncSchema(version: 1, tables: [SyncTable("sound"), refusal.table]), id: 1,
        migrator: migrator)
    }
    #expect(error?.code == refusal.code)
    #expect(error?.table == refusal.table.name)
    #expect(error?.column == refusal.column)
    #expect(error?.message.contains(refusal.says) == true, "\(error?.message ?? "")")
    #expect("\(error!)".contains("“\(refusal.table.name)”"))
    try database.read { db in
      let left = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE name GLOB 'grdb_tern_*' OR type = 'trigger'")
      #expect(left == [])
      #expect(try db.tableExists("sound"))
      #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true)
    }
  }

  @Test(arguments: [
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, s REFERENCES sound)",
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, s VARCHAR(36) REFERENCES sound)",
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, s ANY REFERENCES sound) STRICT",
    "CREATE TABLE t (id INT PRIMARY KEY, s BIGINT REFERENCES t, u NUMERIC REFERENCES t) WITHOUT ROWID",
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n DECIMAL UNIQUE, s INT REFERENCES t (n))",
    "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY); CREATE TABLE u (id INTEGER PRIMARY KEY); "
      + "CREATE TABLE c (t TEXT REFERENCES t, u TEXT REFERENCES u)",
  ])
  func `references that keep what they refer to are taken`(_ creation: String) throws {
    let migrator = DatabaseMigrator.steps([sound, creation])
    let schema = SyncSchema(version: 1, tables: [SyncTable("sound"), SyncTable("t")])
    #expect(throws: Never.self) {
      try Device(DatabaseQueue(), schema, id: 1, migrator: migrator)
    }
  }

  @Test func `what STRICT means for ANY is said`() throws {
    let migrator = DatabaseMigrator.steps([
      "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, n ANY UNIQUE) STRICT",
      "CREATE TABLE u (n ANY REFERENCES t (n))",
    ])
    let error = #expect(throws: SchemaError.self) {
      try Device(
        DatabaseQueue(), SyncSchema(version: 1, tables: [SyncTable("t")]), id: 1,
        migrator: migrator)
    }
    #expect(error?.code == .unsupportedReference && error?.table == "u" && error?.column == "n")
    #expect(error?.message.contains("“ANY” in a table that is not STRICT") == true)
    #expect(error?.message.contains("make the table STRICT, or") == true)
  }

  @Test func `all that is refused is told at once, and nothing of it was done`() throws {
    let database = try DatabaseQueue()
    try database.write {
      try $0.execute(
        sql: """
          CREATE TABLE a (id TEXT PRIMARY KEY, n INTEGER, m REAL, l NOT NULL);
          CREATE TABLE b (id TEXT NOT NULL PRIMARY KEY, o);
          CREATE TABLE c (id INTEGER PRIMARY KEY);
          CREATE TABLE d (id TEXT NOT NULL PRIMARY KEY, s INT REFERENCES b, t INT REFERENCES b);
          """)
    }
    let a = SyncTable(
      "a", merge: ["n": .counter, "m": .set, "x": .max, "y": .min], local: ["l"])
    let tables = [a, SyncTable("b"), SyncTable("c"), SyncTable("nowhere")]
    let error = #expect(throws: SchemaError.self) {
      try Device(database, SyncSchema(version: 1, tables: tables), id: 1)
    }
    let all = try #require(error.map { [$0] + $0.others })
    #expect(
      all.map { "\($0.table).\($0.column ?? "") \($0.code)" } == [
        "a.id nullableKey", "a.x unknownColumn", "a.y unknownColumn", "a.l localWithoutDefault",
        "a.n unsupportedRule", "a.m unsupportedRule", "c.id integerRowIDKey",
        "nowhere. missingTable",
      ])
    #expect(all.dropFirst().flatMap(\.others) == [])
    #expect(error?.description.split(separator: "\n").count == all.count)
    let names = "SELECT name FROM sqlite_master WHERE name GLOB 'grdb_tern_*'"
    let left = try database.read { try String.fetchAll($0, sql: names) }
    #expect(left == [])
    let references = #expect(throws: SchemaError.self) {
      try Device(database, SyncSchema(version: 1, tables: [SyncTable("b")]), id: 1)
    }
    #expect(references?.code == .unsupportedReference)
    let columns = references.map { [$0] + $0.others }?.map(\.column)
    #expect(Set(columns ?? []) == ["s", "t"] && columns?.count == 2)
  }

  @Test func `a table named twice is refused`() throws {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: sound) }
    let error = #expect(throws: SchemaError.self) {
      try open(database, SyncTable("sound"), SyncTable("SOUND"))
    }
    #expect(error?.code == .duplicateTable && error?.table == "SOUND")
  }

  @Test func `a changed key, rule or owner is refused, and capture goes on`() throws {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: sound) }
    let a = try open(database, SyncTable("sound"))
    let changes: [(SchemaError.Code, String, SyncTable, String?)] = [
      (.changedRule, "", SyncTable("sound", merge: ["a": .max]), "a"),
      (
        .changedKey,
        "DROP TABLE sound; CREATE TABLE sound (a TEXT NOT NULL PRIMARY KEY, id)",
        SyncTable("sound"), nil
      ),
    ]
    for (code, sql, table, column) in changes {
      try a.execute("INSERT OR REPLACE INTO sound VALUES ('1', '\(code)')")
      try database.write { try $0.execute(sql: sql) }
      let error = #expect(throws: SchemaError.self) { try open(database, table) }
      #expect(error?.code == code && error?.column == column)
      #expect(error?.message.contains("keep") == true)
      if code == .changedRule { #expect(try a.store.counts().unsealedChanges == 1) }
    }
    #expect(throws: ReplicaError.self) {
      try Device(a.database, .init(version: 1, tables: []), id: 1, name: "a b")
    }
  }

  @Test func `a database of a newer Tern is refused`() throws {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: sound) }
    _ = try open(database, SyncTable("sound"))
    try database.write {
      try $0.execute(sql: "UPDATE grdb_tern_main_replica SET format = format + 1")
    }
    let error = #expect(throws: ReplicaError.self) { try open(database, SyncTable("sound")) }
    #expect(error?.code == .newerFormat)
    try database.write {
      try $0.execute(sql: "UPDATE grdb_tern_main_replica SET format = format - 1")
      try $0.execute(sql: "UPDATE grdb_tern_main_column SET rule = 9")
    }
    let column = #expect(throws: SchemaError.self) { try open(database, SyncTable("sound")) }
    #expect(column?.code == .newerFormat && column?.column == "a")
  }

  @Test func `a replica whose tables are gone says so`() throws {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: sound) }
    let a = try open(database, SyncTable("sound"))
    try database.erase()
    let error = #expect(throws: ReplicaError.self) { try a.store.seal() }
    #expect(error?.code == .notInstalled)
  }
}
