import GRDB
import Tern

/// One database with a replica, for tests that talk to the store directly.
struct Device {
  let database: any DatabaseWriter
  let replica: Replica
  var store: SQLiteReplicaStore { replica.store }

  init(
    _ schema: SyncSchema, id: UInt64, database: (any DatabaseWriter)? = nil,
    logRetention: Duration = Replica.defaultLogRetention,
    migrate: (Database) throws -> Void = { _ in }
  ) throws {
    self.database = try database ?? DatabaseQueue()
    try self.database.write(migrate)
    replica = try Replica.openBlocking(
      self.database, schema: schema, logRetention: logRetention,
      makeID: { ReplicaID(high: 0, low: id) })
  }

  func execute(_ sql: String, _ arguments: StatementArguments = .init()) throws {
    try database.write { try $0.execute(sql: sql, arguments: arguments) }
  }

  /// Writes and seals: later than everything that was sealed before.
  func commit(_ sql: String) throws {
    try execute(sql)
    try store.seal()
  }

  func rows(_ sql: String) throws -> [[DatabaseValue]] {
    try database.read { db in
      try Row.fetchAll(db, sql: sql).map { Array($0.databaseValues) }
    }
  }

  /// Two that start from the same empty tables.
  static func pair(_ schema: SyncSchema, _ creation: String) throws -> (Device, Device) {
    (
      try Device(schema, id: 1) { try $0.execute(sql: creation) },
      try Device(schema, id: 2) { try $0.execute(sql: creation) }
    )
  }

  /// Merges what `other` has and this one lacks.
  @discardableResult
  func pull(from other: Device) throws -> MergeSummary {
    try other.store.seal()
    let operations = try other.store.operations(
      lackedBy: store.versionVector(), maximumBytes: .max)
    return try store.merge(
      PulledPage(
        operations: operations, cursor: RemoteCursor(rawValue: "1"), hasMore: false,
        nowMilliseconds: 0),
      from: RemotePlace(remoteID: "peer", epoch: "e", cursor: nil))
  }
}

/// Both pull from each other until neither has news.
func meet(_ a: Device, _ b: Device) throws {
  try a.pull(from: b)
  try b.pull(from: a)
}
