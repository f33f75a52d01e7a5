import GRDB
import TestDevice
import TestProcesses
import Testing

@testable import Tern

/// What stands between the parentheses of a UNIQUE index, and behind them.
private struct Index: CustomTestStringConvertible {
  let text: String
  /// Of the message where it is refused, and which column that names.
  var says: String?
  var column: String?

  init(_ text: String, _ says: String? = nil, _ column: String? = nil) {
    (self.text, self.says, self.column) = (text, says, column)
  }

  var testDescription: String { text }
}

private let creation = """
  CREATE TABLE t (
    id TEXT NOT NULL PRIMARY KEY, name TEXT COLLATE NOCASE, deleted BOOLEAN NOT NULL DEFAULT 0,
    n INTEGER, r REAL, any, "order" TEXT, "a ""b" TEXT, like TEXT, "x" BLOB, hidden TEXT, hits
    INTEGER NOT NULL DEFAULT 0, tags TEXT NOT NULL DEFAULT '[]', top INTEGER, "select" INT,
    low TEXT AS (lower(/* ( */ name)), size INTEGER GENERATED ALWAYS AS (length(low) + 1) STORED,
    odd TEXT AS (printf('%s', name)), mine TEXT AS (hidden))
  """
private let schema = SyncSchema(
  version: 1,
  tables: [
    SyncTable("t", merge: ["hits": .counter, "tags": .set, "top": .max], local: ["hidden"])
  ])

@Suite("Schema: expressions of UNIQUE indexes")
struct IndexExpressionTests {
  private static let accepted = [
    "name", "name) WHERE (deleted = 0", "lower(name)", "name) WHERE (NOT deleted",
    "name) WHERE (deleted = FALSE", "name) WHERE (deleted IS NOT TRUE", "low", "low, size",
    "name) WHERE (low IS NULL AND size < 3", "name COLLATE RTRIM DESC, n ASC",
    "upper(trim(name, 'x')) COLLATE NOCASE", "name || '-' || n", "substr(name, 2), length(name)",
    "replace(\"a \"\"b\", 'x', ''), [order], `like`", "coalesce(name, like, 'none')",
    "ifnull(nullif(name, ''), '-')", "CASE WHEN deleted THEN id ELSE name END",
    "CASE n WHEN 1 THEN 'one' WHEN 2 THEN name END", "n * 2 + 1, -n, ~n, n % 3 & 1 << 2",
    "name) WHERE (n IN (1, 2, -3) AND name NOT IN ('a', 'b') OR n IN ()",
    "name) WHERE (n BETWEEN 0 AND 9 AND name NOT BETWEEN 'a' AND 'b'",
    "name) WHERE (r > 1.5 AND r <> .5 AND r != 1e-5 AND r < 1.e+3 AND n == 0x1F",
    "name) WHERE (x = x'00ff' AND X'' <> x", "name) WHERE (name ISNULL OR n NOTNULL OR r NOT NULL",
    "name) WHERE (any = 1 OR any = '1'", "name) WHERE (like = 'it''s -- no comment'",
    "name) WHERE (name = 'a' /* OR printf() */ AND -- LIKE\n n = 1",
    "name) WHERE (name IS DISTINCT FROM 'a' AND n IS NOT DISTINCT FROM 1",
    "name COLLATE \"nocase\") WHERE (\"select\" = 1 AND \"name\" COLLATE BINARY = 'a'",
    "lower /* no */ (name)", "\"lower\"(name)", "id || name", "name) WHERE (id > 'a'",
  ].map { Index($0) }

  private static let refused = [
    Index("name) WHERE (name LIKE 'a%'", "uses LIKE"),
    Index("name) WHERE (name NOT GLOB 'a*'", "uses GLOB"),
    Index("printf('%s', name)", "uses printf()"), Index("hex(name)", "uses hex()"),
    Index("abs(n)", "uses abs()"), Index("CAST(n AS TEXT)", "uses CAST()"),
    Index("name ->> 'a'", "uses ->>"), Index("shout(name)", "uses shout()"),
    Index("name COLLATE local", "collation local", "name"),
    Index("name) WHERE (name = 'a' COLLATE local", "collation local"),
    Index("hidden", "local column", "hidden"), Index("lower(hidden)", "local column", "hidden"),
    Index("name) WHERE (hidden IS NULL", "local column", "hidden"),
    Index("name, hits", "let it be .lastWriter", "hits"),
    Index("name) WHERE (tags = '[]'", "let it be .lastWriter", "tags"),
    Index("name) WHERE (top > 1", "let it be .lastWriter", "top"),
    Index("odd", "uses printf()", "odd"), Index("name) WHERE (odd = 'a'", "uses printf()", "odd"),
    Index("mine", "local column", "hidden"),
    Index("name) WHERE (deleted = '0'", "another type", "deleted"),
    Index("name) WHERE (name = 1", "another type", "name"),
    Index("name) WHERE (name IN ('a', 1)", "another type", "name"),
    Index("name) WHERE (n = name", "another type", "n"),
    Index("name) WHERE (n BETWEEN '1' AND 2", "another type", "n"),
    Index("CASE n WHEN '1' THEN 1 END", "another type", "n"),
    Index("name) WHERE (lower(name) = n", "another type", "n"),
    Index("r || ''", "text of a number", "r"), Index("lower(r)", "text of a number", "r"),
    Index("1.5 || name", "text of a number"), Index("r + 1", "whole number", "r"),
    Index("name + 1", "whole number", "name"), Index("n + 1.5", "whole number"),
    Index("name) WHERE (rowid > 1", "no such column"),
    Index("name) WHERE ((n, name) = (1, 'a')", "can't be read near “,”"),
    Index("\(String(repeating: "(", count: 60))n\(String(repeating: ")", count: 60)) + 1", "40"),
  ]

  private func database(_ index: Index) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(function: DatabaseFunction("shout", argumentCount: 1, pure: true) { $0[0] })
      db.add(collation: DatabaseCollation("local") { $0.compare($1) })
    }
    let database = try DatabaseQueue(configuration: configuration)
    try database.write { db in
      try db.execute(sql: creation)
      // The WHERE has parentheses, of which the table of cases leaves out the outer ones.
      try db.execute(sql: "CREATE UNIQUE INDEX i ON t (\(index.text))")
    }
    return database
  }

  @Test(arguments: accepted)
  fileprivate func `what every SQLite computes alike syncs, and is searched by its own index`(
    _ index: Index
  ) throws {
    let device = try Device(try database(index), schema, id: 1)
    let unique = try #require(device.store.access.sql[0].shape.uniques.first)
    guard let computed = unique.computed else { return }
    let search = device.store.access.sql[0].rivals(computed)
    let plan = try device.database.read { db in
      let count = computed.terms.count
      return try Row.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN \(search)",
        arguments: StatementArguments((0..<count).map { _ in "a" })
      ).map { $0["detail"] as String }
    }
    #expect(plan.contains { $0.contains("USING INDEX i (") }, "\(plan) of \(search)")
    try device.execute("INSERT INTO t (id, name, n) VALUES ('1', 'Dune', 1), ('2', NULL, 2)")
    try device.execute("UPDATE OR REPLACE t SET deleted = 1, name = 'Emma'")
    try device.store.seal()
    let diagnosis = try device.database.read { try DatabaseDiagnosis($0) }
    #expect(diagnosis.findings.isEmpty)
  }

  @Test(arguments: refused)
  fileprivate func `all else is refused by name, and with what to do`(_ index: Index) throws {
    let database = try database(index)
    let error = #expect(throws: SchemaError.self) { try Device(database, schema, id: 1) }
    #expect(error?.code == .uniqueBesideKey && error?.others.isEmpty ?? false)
    #expect(error?.column == index.column)
    let message = error?.message ?? ""
    for text in ["its UNIQUE index “i” ", index.says!, "; "] {
      #expect(message.contains(text), "\(message)")
    }
  }

  @Test func `refusals of indexes come with all others`() throws {
    let database = try database(Index("name LIKE 'a'"))
    try database.write { db in
      try db.execute(
        sql: """
          CREATE UNIQUE INDEX j ON t (hidden); CREATE UNIQUE INDEX k ON t (name) WHERE n = 1;
          CREATE UNIQUE INDEX l ON t (hits, n);
          """)
    }
    let table = SyncTable("t", merge: ["hits": .counter, "n": .set], local: ["hidden", "no"])
    let error = #expect(throws: SchemaError.self) {
      try Device(database, SyncSchema(version: 1, tables: [table, SyncTable("none")]), id: 1)
    }
    let all = error.map { [$0] + $0.others } ?? []
    #expect(
      all.map { "\($0.table).\($0.column ?? "") \($0.code)" } == [
        "t.no unknownColumn", "t.n unsupportedRule", "t. uniqueBesideKey",
        "t.hidden uniqueBesideKey", "t.n uniqueBesideKey", "t.hits uniqueBesideKey",
        "none. missingTable",
      ])
  }

  @Test(arguments: ["lower(name)", "name) WHERE (lower(name) = 'a'", "low"])
  func `a function of SQLite's that the app has replaced is refused`(_ text: String) throws {
    var configuration = Configuration()
    let database = try database(Index(text))
    configuration.prepareDatabase { db in
      db.add(
        function: DatabaseFunction("lower", argumentCount: 1, pure: true) {
          String.fromDatabaseValue($0[0])?.lowercased()
        })
    }
    let replaced = try DatabaseQueue(configuration: configuration)
    try database.backup(to: replaced)
    let error = #expect(throws: SchemaError.self) { try Device(replaced, schema, id: 1) }
    #expect(error?.message.contains("uses lower(), which the app") ?? false)
  }

  /// GRDB lets nobody write such an index, and other programs do.
  @Test func `a text in double quotes is refused`() throws {
    let database = try withTemporaryFolder { folder in
      let path = folder + "/app.sqlite"
      let index = "CREATE UNIQUE INDEX i ON t (name) WHERE like = \"open\""
      #expect(try sqlite3(path, ["\(creation); \(index)"]) == "")
      let database = try DatabaseQueue()
      try DatabaseQueue(path: path).backup(to: database)
      return database
    }
    let error = #expect(throws: SchemaError.self) { try Device(database, schema, id: 1) }
    #expect(error?.message.contains("write a text in single quotes: 'open'") ?? false)
  }

  @Test func `a collation of SQLite's that the app has replaced is refused`() throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.add(collation: DatabaseCollation("NOCASE") { $0.caseInsensitiveCompare($1) })
    }
    let database = try DatabaseQueue(configuration: configuration)
    try database.write { try $0.execute(sql: "\(creation); CREATE UNIQUE INDEX i ON t (name)") }
    let error = #expect(throws: SchemaError.self) { try Device(database, schema, id: 1) }
    #expect(error?.message.contains("the collation NOCASE, which the app") ?? false)
  }

  @Test(arguments: [
    (#"CREATE TABLE "t(" (a, "b)" TEXT AS (a || ')') STORED, c CHECK (c > 1))"#, 3, "a || ')'"),
    (
      "CREATE TABLE t (a, [as] INT GENERATED ALWAYS AS(/* ) */ a+1/*x*/), PRIMARY KEY (a))", 2,
      "a+1"
    ),
    ("CREATE TABLE t (a DEFAULT (1), as2 NUMERIC(10, 2) CHECK (a) AS (a) VIRTUAL)", 2, "a"),
  ])
  func `what a generated column is made of is read`(_ sql: String, _ count: Int, _ text: String)
    throws
  {
    let database = try DatabaseQueue()
    try database.write { try $0.execute(sql: sql) }
    let words = SQLText(sql)
    let definitions = try #require(words.columnDefinitions(count))
    #expect(words.generatedExpression(definitions[0]) == nil)
    let range = try #require(words.generatedExpression(definitions[1]))
    let (first, last) = (words.tokens[range.lowerBound], words.tokens[range.upperBound - 1])
    let bytes = words.bytes[first.range.lowerBound..<last.range.upperBound]
    #expect(String(decoding: bytes, as: UTF8.self) == text)
  }

  @Test func `the pointer of folded rows may stand in a WHERE, and nothing else that is local`()
    throws
  {
    let database = try database(Index("name) WHERE (hidden IS NULL AND deleted = 0"))
    try database.read { db in
      var table = schema.tables[0]
      #expect(throws: SchemaError.self) { try TableInspection(db: db, declared: table).shape() }
      table.collisions = .fold(into: "HIDDEN")
      let shape = try TableInspection(db: db, declared: table).shape()
      let unique = try #require(shape.uniques.first)
      #expect(unique.columns.map(\.name) == ["name", "hidden", "deleted"])
      let scratch = try UniqueScratch(shape)
      let values: [String: SQLiteValue] = ["name": "a", "deleted": .integer(0)]
      #expect(try scratch.terms(of: values, in: 0) == ["a"])
      for (column, value) in [("deleted", SQLiteValue.integer(1)), ("name", .null)] {
        let other = values.merging([column: value]) { $1 }
        #expect(try scratch.terms(of: other, in: 0) == nil)
      }
    }
    let other = try self.database(Index("hidden) WHERE (hidden IS NULL"))
    try other.read { db in
      var table = schema.tables[0]
      table.collisions = .fold(into: "hidden")
      #expect(throws: SchemaError.self) { try TableInspection(db: db, declared: table).shape() }
    }
  }
}
