#if PostgreSQL
import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: statements that the database keeps",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"))
struct PostgreSQLPreparedTests {
  private let database: TestDatabase
  private let store: PostgreSQLSpaceStore
  private let connection: PostgreSQLConnection

  init() throws {
    database = try TestDatabase()
    store = try database.open()
    connection = try PostgreSQLConnection(
      try #require(TestDatabase.address), patience: .seconds(10))
    connection.prepared = [:]
  }

  /// Its plan is made while the tables are empty.
  private func position(of sequence: Int64) throws -> Int64? {
    connection.begin(.init())
    defer { connection.rollBack() }
    return try connection.run(
      """
      SELECT position FROM \(store.schema("operation"))
      WHERE space = $1 AND author = $2 AND sequence = $3
      """, [.integer(1), .bytes([1]), .integer(sequence)]
    ).first?.integer(0)
  }

  private func run(_ sql: String) throws -> PostgreSQLRows { try connection.run(sql) }

  @Test func `a plan that was made for empty tables is good for full ones`() throws {
    #expect(try position(of: 1) == nil)
    let kept = try run(
      """
      SELECT name, generic_plans, custom_plans FROM pg_prepared_statements
      WHERE statement LIKE '%AND sequence%'
      """)
    #expect(kept.count == 1 && kept[0].integer(1) == 1 && kept[0].integer(2) == 0)
    let name = try #require(kept[0].text(0))
    try store.update(.home) { _ in }
    try database.run(
      """
      INSERT INTO tern.operation (space, position, author, sequence, digest, chain)
      SELECT (SELECT id FROM tern.space), number, '\\x01', number, '', ''
      FROM generate_series(1, 20000) AS number
      """)
    let plan = try run("EXPLAIN EXECUTE \(name) (1, '\\x01', 7)").map { $0.text(0) ?? "" }
    #expect(plan.contains { $0.contains("Index Scan") }, "\(plan)")
    #expect(try position(of: 7) == 7)
    try database.run("DELETE FROM tern.operation")
  }

  @Test func `what is set for plans ends with the transaction`() throws {
    func settings() throws -> [String] {
      try run("SELECT current_setting('enable_seqscan') || current_setting('plan_cache_mode')")
        .map { $0.text(0) ?? "" }
    }
    connection.begin(.init())
    #expect(try settings() == ["offforce_generic_plan"])
    connection.rollBack()
    #expect(try settings() == ["onauto"])
  }

  @Test func `one that failed, and those behind it, are prepared when they are asked again`() throws
  {
    connection.begin(.init())
    connection.queue("SELECT 1 / $1", [.integer(0)])
    #expect(throws: PostgreSQLError.self) { try position(of: 1) }
    #expect(try position(of: 1) == nil)
    #expect(try position(of: 1) == nil)
  }

  /// As by a pool that gives the transaction another connection.
  @Test func `a pool that knows nothing of them is named, and the connection is given up`() throws {
    _ = try position(of: 1)
    _ = try run("DEALLOCATE ALL")
    let error = #expect(throws: PostgreSQLError.self) { try position(of: 1) }
    #expect(error?.state == "26000" && error?.message.contains("pool") == true)
    #expect(!connection.isIdle)
  }
}
#endif
