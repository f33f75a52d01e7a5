#if Server
import GRDB
import Tern
import Testing

/// A device with an engine for each of its remotes, for tests over real sockets and files.
struct Phone {
  let database: any DatabaseWriter
  let replica: Replica
  let engines: [SyncEngine]

  /// The first, or only, one.
  var engine: SyncEngine { engines[0] }

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
    database =
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
    self.replica = replica
    engines = try remotes(replica).map { remote in
      SyncEngine(
        replica, remote: remote,
        environment: SyncEnvironment(
          backoff: Backoff(base: .milliseconds(20), limit: .milliseconds(200)),
          pollInterval: .milliseconds(100)))
    }
  }

  func execute(_ sql: String) async throws {
    try await database.write { try $0.execute(sql: sql) }
  }

  func syncOnce() async throws {
    for engine in engines { try await engine.syncOnce() }
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

  /// Runs engines while `body` runs.
  static func run(_ phones: [Phone], _ body: () async throws -> Void) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      for engine in phones.flatMap(\.engines) { group.addTask { await engine.run() } }
      try await body()
      group.cancelAll()
    }
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
