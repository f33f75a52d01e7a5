import GRDB
import Tern
import TernCore
import Testing

/// What a job that opens or writes a replica is told about trying again.
@Suite struct AdviceTests {
  private func advice(_ body: () throws -> Void) -> FailureAdvice? {
    do {
      try body()
      return nil
    } catch {
      return (error as? any AdvisingError)?.advice
    }
  }

  @Test func `what no repetition mends says so`() throws {
    let schema = SyncSchema(version: 1, tables: [SyncTable("item")])
    let database = try DatabaseQueue()
    #expect(advice { _ = try Device(schema, id: 1, database: database) } == .permanent)
    try database.write { try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)") }
    #expect(
      advice { _ = try Device(database, schema, id: 1, name: "no name") } == .permanent)
    let (a, b) = (
      try Device(schema, id: 1, database: database),
      try Device(schema, id: 2) {
        try $0.execute(sql: "CREATE TABLE item (id TEXT NOT NULL PRIMARY KEY)")
      }
    )
    for key in ["1", "2"] {
      try a.execute("INSERT INTO item VALUES (?)", [key])
      try a.store.seal()
    }
    let second = try a.store.operations(lackedBy: VersionVector(), maximumBytes: .max).suffix(1)
    #expect(advice { try b.merge(Array(second)) } == .permanent)
  }
}
