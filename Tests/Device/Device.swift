import GRDB
import Tern

/// One database with a replica and, where a test wants them, an engine for each of its remotes.
package struct Device: Sendable {
  package let database: any DatabaseWriter
  package let replica: Replica
  package let engines: [SyncEngine]

  package var store: SQLiteReplicaStore { replica.store }

  package init(_ database: any DatabaseWriter, _ replica: Replica, remotes: [any Remote] = []) {
    self.database = database
    self.replica = replica
    engines = remotes.map { remote in
      SyncEngine(
        replica, remote: remote,
        environment: SyncEnvironment(
          backoff: Backoff(base: .milliseconds(20), limit: .milliseconds(200)),
          pollInterval: .milliseconds(100)))
    }
  }

  /// Opens a database, as a later version of the app does too.
  package init(
    _ database: any DatabaseWriter, _ schema: SyncSchema, id: UInt64,
    migrator: DatabaseMigrator? = nil, name: String = "main",
    logRetention: Duration = Replica.defaultLogRetention, inbox: InboxLimits = InboxLimits(),
    random: @escaping @Sendable () -> UInt64 = Replica.drawn
  ) throws {
    let replica = try Replica.openBlocking(
      database, schema: schema, migrator: migrator, name: name, logRetention: logRetention,
      inbox: inbox, random: random, makeID: { ReplicaID(high: 0, low: id) })
    self.init(database, replica)
  }

  /// - Parameters:
  ///   - database: `nil` for one in memory.
  ///   - migrate: what the app does before it opens the replica.
  package init(
    _ schema: SyncSchema, id: UInt64, database: (any DatabaseWriter)? = nil,
    logRetention: Duration = Replica.defaultLogRetention,
    migrate: (Database) throws -> Void = { _ in }
  ) throws {
    let database = try database ?? DatabaseQueue()
    try database.write(migrate)
    try self.init(database, schema, id: id, logRetention: logRetention)
  }

  /// Two that start from the same empty tables.
  package static func pair(_ schema: SyncSchema, _ creation: String) throws -> (Device, Device) {
    (
      try Device(schema, id: 1) { try $0.execute(sql: creation) },
      try Device(schema, id: 2) { try $0.execute(sql: creation) }
    )
  }
}
