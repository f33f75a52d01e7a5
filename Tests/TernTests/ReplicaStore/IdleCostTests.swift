import GRDB
import Synchronization
import Tern
import TestDevice
import Testing

/// Statements that a connection ran.
private final class Statements: Sendable {
  private let texts = Mutex<[String]>([])

  func add(_ text: String) { texts.withLock { $0.append(text) } }
  func take() -> [String] {
    texts.withLock { texts in
      defer { texts = [] }
      return texts
    }
  }
}

/// What an engine asks while nothing happens costs the same however much there is.
@Suite("ReplicaStore: what an idle engine asks, whatever the log's size")
struct IdleCostTests {
  private func device(_ statements: Statements) throws -> Device {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      db.trace { statements.add("\($0)") }
    }
    let schema = SyncSchema(version: 1, tables: [SyncTable("item")])
    return try Device(schema, id: 1, database: DatabaseQueue(configuration: configuration)) {
      try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, text)")
    }
  }

  /// Which of Tern's tables the statements that `body` runs go through from end to end.
  private func scanned(
    _ device: Device, _ statements: Statements, _ body: () throws -> Void
  ) throws -> Set<String> {
    _ = statements.take()
    try body()
    // Which tables are there is asked for by name, as a parameter.
    let run = statements.take()
      .filter { $0.uppercased().hasPrefix("SELECT") && !$0.contains("sqlite_master") }
    #expect(!run.isEmpty)
    var scanned: Set<String> = []
    for sql in run {
      let plan = try device.rows("EXPLAIN QUERY PLAN \(sql)")
      for detail in plan.compactMap({ String.fromDatabaseValue($0[3]) }) {
        let words = detail.split(separator: " ")
        if words.first == "SCAN" { scanned.insert(String(words[1])) }
      }
    }
    return scanned
  }

  @Test func `looking for news goes through no table that grows with the log`() throws {
    let statements = Statements()
    let a = try device(statements)
    let news = try scanned(a, statements) {
      _ = try a.store.hasNews()
      _ = try a.store.ownHead()
    }
    // Of a note table, only whether there is a first row; the table of what is to be settled has one.
    let tables = ["note_1", "replica", "unsettled"].map { "grdb_tern_main_\($0)" }
    #expect(news.isSubset(of: tables + ["CONSTANT"]))
    #expect(news.contains("grdb_tern_main_note_1"))
  }

  @Test func `counting does not go through the log`() throws {
    let statements = Statements()
    let a = try device(statements)
    try a.execute("INSERT INTO item VALUES ('1', 'one')")
    try a.store.seal()
    var operations = 0
    let counted = try scanned(a, statements) { operations = try a.store.counts().operations }
    #expect(operations == 1)
    #expect(!counted.contains("grdb_tern_main_log"))
    #expect(counted.contains("grdb_tern_main_author"))
  }

  @Test func `news is what a seal finds`() throws {
    let a = try device(Statements())
    #expect(try !a.store.hasNews())
    try a.execute("INSERT INTO item VALUES ('1', 'one')")
    #expect(try a.store.hasNews())
    try a.store.seal()
    #expect(try !a.store.hasNews())
  }

  /// The statements of opening a file again.
  private func opening(_ device: Device, _ statements: Statements, _ schema: SyncSchema) throws
    -> [String]
  {
    _ = statements.take()
    _ = try Device(device.database, schema, id: 1)
    return statements.take()
  }

  @Test func `opening again asks for nothing that waits for another schema or another row`() throws
  {
    let schema = SyncSchema(version: 1, tables: [SyncTable("item"), SyncTable("part")])
    let sql = """
      CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY, text);
      CREATE TABLE part (id TEXT NOT NULL PRIMARY KEY, item TEXT REFERENCES item);
      """
    let statements = Statements()
    var configuration = Configuration()
    configuration.prepareDatabase { db in db.trace { statements.add("\($0)") } }
    let a = try Device(schema, id: 1, database: DatabaseQueue(configuration: configuration)) {
      try $0.execute(sql: sql)
    }
    let empty = try opening(a, statements, schema)
    var forger = Forger()
    for number in 0..<50 {
      try a.merge([
        forger.row([], of: "unknown\(number)", columns: []),
        forger.row(
          Forger.packed("none"), of: "part", key: Forger.packed(.string("p\(number)")),
          columns: [("item", 0)]),
      ])
    }
    #expect(try a.store.counts().pending[.schema] == 50)
    #expect(try a.store.counts().quarantined == 50)
    _ = try opening(a, statements, schema)
    let full = try opening(a, statements, schema)
    #expect(full.count <= empty.count + 4, "\(full.filter { !empty.contains($0) })")
    let asked = full.filter { $0.contains("reason = 'schema'") }
    #expect(asked.filter { !$0.contains("foreign_key_list") } == [])
    // A schema that knows one of them takes it.
    let known = SyncSchema(version: 2, tables: schema.tables + [SyncTable("unknown7")])
    try a.database.write {
      try $0.execute(sql: "CREATE TABLE unknown7 (id TEXT NOT NULL PRIMARY KEY)")
    }
    let newer = try Device(a.database, known, id: 1)
    #expect(try newer.rows("SELECT id FROM unknown7").count == 1)
    #expect(try newer.store.counts().pending[.schema] == 49)
    #expect(try newer.store.counts().quarantined == 50)
  }
}
