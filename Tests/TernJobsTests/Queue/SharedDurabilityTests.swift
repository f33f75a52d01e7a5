import GRDB
import Tern
import TernJobs
import TestProcesses
import Testing

/// A replica and a queue write by one connection, and what that promises is for both.
@Suite("Queue: the durability that a queue and a replica share")
struct SharedDurabilityTests {
  private func open(_ database: DatabasePool, _ durability: Durability) throws -> Replica {
    try database.write { db in
      try db.execute(sql: "CREATE TABLE IF NOT EXISTS item (id TEXT NOT NULL PRIMARY KEY)")
    }
    return try Replica.openBlocking(
      database, schema: SyncSchema(version: 1, tables: [SyncTable("item")]), durability: durability,
      makeID: { ReplicaID(high: 1, low: 2) })
  }

  @Test func `a replica that would lower what a queue promised is refused by name`() throws {
    try withTemporaryFolder { folder in
      let database = try DatabasePool(path: folder + "/app.sqlite")
      _ = try JobQueue.openBlocking(database)
      let error = try #require(throws: DatabaseSetupError.self) {
        try open(database, .processCrash)
      }
      #expect(error.code == .lowerDurability)
      _ = try open(database, .powerLoss)
    }
  }

  @Test func `what is opened later may raise it`() throws {
    try withTemporaryFolder { folder in
      let database = try DatabasePool(path: folder + "/app.sqlite")
      _ = try open(database, .processCrash)
      _ = try JobQueue.openBlocking(database, durability: .processCrash)
      _ = try JobQueue.openBlocking(database)
      #expect(try database.write { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
    }
  }
}
