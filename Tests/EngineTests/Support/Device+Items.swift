#if Server
import GRDB
import Tern
import Testing
import TestDevice

/// Devices with one table of items, for tests over real sockets and files.
extension Device {
  /// - Parameter clockOffset: milliseconds that the device's clock is ahead.
  init(_ port: Int, token: String? = nil, clockOffset: Int64 = 0) async throws {
    try await self.init(clockOffset: clockOffset) { _ in
      [try Server.remote(port: port, token: token)]
    }
  }

  /// - Parameters:
  ///   - path: of the database; `nil` for one in memory.
  ///   - logRetention: how long the log keeps what every remote holds.
  init(
    path: String? = nil, schemaVersion: UInt32 = 1,
    logRetention: Duration = Replica.defaultLogRetention, clockOffset: Int64 = 0,
    remotes: (Replica) throws -> [any Remote]
  ) async throws {
    var configuration = Configuration()
    if clockOffset != 0 {
      configuration.prepareDatabase { db in
        let now = try Double.fetchOne(db, sql: "SELECT julianday()")!
        db.add(
          function: DatabaseFunction("julianday", argumentCount: 0) { _ in
            now + Double(clockOffset) / 86_400_000
          })
      }
    }
    let database: any DatabaseWriter =
      try path.map { try DatabasePool(path: $0, configuration: configuration) }
      ?? DatabaseQueue(configuration: configuration)
    try await database.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS item (
            id TEXT NOT NULL PRIMARY KEY, text TEXT, count INTEGER NOT NULL DEFAULT 0)
          """)
    }
    let replica = try await Replica.open(
      database,
      schema: SyncSchema(
        version: schemaVersion, tables: [SyncTable("item", merge: ["count": .counter])]),
      logRetention: logRetention)
    try self.init(database, replica, remotes: remotes(replica))
  }

  /// Waits for the database without holding a thread that engines run on.
  func execute(_ sql: String) async throws {
    try await database.write { try $0.execute(sql: sql) }
  }

  /// Past the triggers, as damage comes.
  func executeUnnoted(_ sql: String) async throws {
    try await database.write { db in
      let triggers = try Row.fetchAll(
        db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'item'")
      for trigger in triggers { try db.execute(sql: "DROP TRIGGER \"\(trigger[0] as String)\"") }
      try db.execute(sql: sql)
      for trigger in triggers { try db.execute(sql: trigger[1]) }
    }
  }

  func column(_ sql: String) async throws -> [String] {
    try await database.read { try String.fetchAll($0, sql: sql) }
  }

  /// Returns when the table has `count` rows that match.
  func waitForRows(_ count: Int, where condition: String = "true") async throws {
    let rows = ValueObservation.tracking {
      try Int.fetchOne($0, sql: "SELECT count(*) FROM item WHERE \(condition)") ?? 0
    }
    for try await seen in rows.values(in: database) where seen == count { return }
    Issue.record("the observation ended")
  }

  func waitForStatus(_ matches: @Sendable (SyncStatus.Moment) -> Bool) async {
    await engine.waitForStatus(matches)
  }
}

extension SyncEngine {
  /// The first status that matches, from the present one on.
  @discardableResult
  func waitForStatus(_ matches: @Sendable (SyncStatus.Moment) -> Bool) async -> SyncStatus.Moment? {
    for await moment in status.updates where matches(moment) { return moment }
    Issue.record("the updates ended")
    return nil
  }
}
#endif
