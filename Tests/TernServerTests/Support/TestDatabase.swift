#if Server
import Foundation
import Testing

@testable import TernServer

/// A schema of its own in the tests' database, which goes with its object. Then nothing in it was
/// counted wrong.
final class TestDatabase: AnyExamination {
  /// Of the database that `script/test` starts; `nil` where there is none.
  static let address = ProcessInfo.processInfo.environment["TERN_POSTGRESQL"]

  /// Of a pool before it that gives each transaction another connection.
  static let poolAddress = ProcessInfo.processInfo.environment["TERN_PGBOUNCER"]

  let schema = "test_\(UUID().uuidString.lowercased())"
  #if PostgreSQL
  private let pool: PostgreSQLPool
  /// By which stores reach it.
  private let address: String

  init(behindPool: Bool = false) throws {
    address = try #require(behindPool ? Self.poolAddress : Self.address)
    pool = PostgreSQLPool(
      try #require(Self.address), connections: 1, patience: .seconds(10), prepare: { _ in })
  }

  func open(
    seed: UInt64 = 1, listeningAt listening: String? = nil,
    _ change: (inout PostgreSQLLimits) -> Void = { _ in },
    slowStatements: SlowStatements? = nil, probe: PostgreSQLProbe? = nil,
    migrations: PostgreSQLMigrations = .current
  ) throws -> PostgreSQLSpaceStore {
    var generator = SeededGenerator(state: seed)
    var limits = PostgreSQLLimits()
    limits.connections = 4
    // Of the pool's connections each transaction has another one.
    limits.preparesStatements = address == Self.address
    change(&limits)
    return try PostgreSQLSpaceStore(
      address, schema: schema, listeningAt: listening, limits: limits,
      slowStatements: slowStatements, probe: probe, migrations: migrations,
      using: &generator)
  }

  /// Runs SQL in which `tern.` stands for the schema.
  @discardableResult
  func run(_ sql: String) throws -> PostgreSQLRows {
    try pool.withConnection { try $0.run(sql.replacing("tern.", with: "\"\(schema)\".")) }
  }

  /// Runs `body` while another session holds a lock that everybody may share but who changes the
  /// table.
  func holding(_ table: String, _ body: () throws -> Void) throws {
    let other = try PostgreSQLConnection(try #require(Self.address), patience: .seconds(10))
    _ = try other.run("BEGIN")
    _ = try other.run("LOCK TABLE \"\(schema)\".\(table) IN ACCESS SHARE MODE")
    defer { other.rollBack() }
    try body()
  }

  /// From now on each COMMIT of a transaction that inserts into a table comes back with a warning.
  func warnAtCommit(of table: String) throws {
    try run(
      """
      CREATE FUNCTION tern.warn() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE WARNING 'canceling wait'; RETURN NULL; END $$
      """)
    try run(
      """
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON tern.\(table) DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION tern.warn()
      """)
  }

  deinit {
    do {
      if try run("SELECT to_regclass('tern.operation')::text").first?.isNull(0) == false {
        #expect(try run(Self.miscounted).map { $0.text(0) ?? "" } == [])
      }
      try run("DROP SCHEMA IF EXISTS \"\(schema)\" CASCADE")
    } catch {
      Issue.record(error)
    }
    pool.close()
  }

  /// What is kept of sums, and is none; of a removed space nobody asks for them.
  private static let miscounted = """
    WITH space AS (SELECT * FROM tern.space WHERE NOT \(RemovedSpace.condition)),
    stored AS (
      SELECT operation.*, coalesce(length(held.bytes), 0)::bigint AS length,
        operation.position > space.released AS is_counted
      FROM tern.operation AS operation JOIN space ON space.id = operation.space
      LEFT JOIN tern.operation_bytes AS held
        ON held.space = operation.space AND held.position = operation.position
    ), parts AS (
      SELECT space, dropped_ms IS NULL AS is_counted, sum(length(part.bytes))::bigint AS length
      FROM tern.snapshot AS snapshot
      JOIN tern.snapshot_part AS part ON part.snapshot = snapshot.id GROUP BY 1, 2
    )
    SELECT 'bytes of ' || name FROM space WHERE space.bytes <>
      coalesce((SELECT sum(length) FROM stored WHERE space = id AND is_counted), 0)
      + coalesce((SELECT sum(length) FROM parts WHERE space = id AND is_counted), 0)
    UNION ALL SELECT 'kept bytes of ' || name FROM space WHERE kept_bytes <>
      coalesce((SELECT sum(length) FROM stored WHERE space = id AND NOT is_counted), 0)
      + coalesce((SELECT sum(length) FROM parts WHERE space = id AND NOT is_counted), 0)
    UNION ALL SELECT 'head of ' || encode(author, 'hex') FROM tern.head AS head
      WHERE head.space IN (SELECT id FROM space) AND (operations, bytes) IS DISTINCT FROM (
        SELECT (count(*), coalesce(sum(length), 0)::bigint) FROM stored
        WHERE stored.space = head.space AND stored.author = head.author AND sequence > 0
          AND is_counted)
    UNION ALL SELECT 'positions of ' || name FROM space WHERE position <>
      (SELECT count(*) FROM tern.operation WHERE operation.space = id)
    """
  #else
  init(behindPool: Bool = false) throws {}

  func open(seed: UInt64 = 1, slowStatements: SlowStatements? = nil) throws -> any SpaceStore {
    preconditionFailure("built without PostgreSQL")
  }
  #endif
}
#endif
