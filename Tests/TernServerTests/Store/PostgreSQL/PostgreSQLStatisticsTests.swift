#if PostgreSQL
import TernCore
import Testing

@testable import TernServer

@Suite(
  "PostgreSQL: what a database says of itself",
  .enabled(if: TestDatabase.address != nil, "script/test starts a database"),
  .timeLimit(.minutes(1)))
struct PostgreSQLStatisticsTests {
  @Test func `a transaction that is left open ages, and goes`() throws {
    let database = try TestDatabase()
    let store = try database.open()
    let address = try #require(TestDatabase.address)
    let other = try PostgreSQLConnection(address, patience: .seconds(10))
    _ = try other.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
    _ = try other.run("SELECT pg_sleep(0.05), count(*) FROM pg_class")
    // Of other tests there may be older ones, which end.
    let open = try #require(try store.statistics().database?.oldestSnapshot)
    #expect(open >= .milliseconds(50))
    _ = try other.run("COMMIT")
    while try #require(try store.statistics().database?.oldestSnapshot) >= open {}
  }

  @Test func `without standby commits wait for none, and no one is behind`() throws {
    let database = try TestDatabase()
    let found = try #require(try database.open().statistics().database)
    #expect(!found.waitsForStandby && found.standbyLagBytes == nil)
  }

  @Test func `a role that may not see others' transactions says so`() throws {
    let database = try TestDatabase()
    _ = try database.open()
    let role = "role_\(database.schema.suffix(12))"
    try database.run("CREATE ROLE \(role) LOGIN")
    defer {
      // Whatever it has is of the schema, which goes.
      _ = try? database.run("DROP OWNED BY \(role)")
      _ = try? database.run("DROP ROLE \(role)")
    }
    try database.run("GRANT USAGE ON SCHEMA \"\(database.schema)\" TO \(role)")
    try database.run("GRANT SELECT ON ALL TABLES IN SCHEMA \"\(database.schema)\" TO \(role)")
    let address = try #require(TestDatabase.address).replacing("user=tern", with: "user=\(role)")
    var generator = SeededGenerator(state: 1)
    let store = try PostgreSQLSpaceStore(address, schema: database.schema, using: &generator)
    defer { store.close() }
    let statistics = try store.statistics()
    #expect(statistics.spaces == 0 && statistics.database?.oldestSnapshot == nil)
    try database.run("GRANT pg_read_all_stats TO \(role)")
    #expect(try store.statistics().database?.oldestSnapshot != nil)
  }

  @Test func `connections are counted while they are used`() throws {
    let database = try TestDatabase()
    let store = try database.open()
    #expect(store.connections == StoreConnections(inUse: 0, limit: 4))
    try store.update(.home) { _ in
      #expect(store.connections == StoreConnections(inUse: 1, limit: 4))
    }
    #expect(store.connections?.inUse == 0)
  }
}
#endif
