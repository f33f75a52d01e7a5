#if Server
/// What a store holds as a whole, and how its database stands: for an operator, not for rules.
public struct StoreStatistics: Hashable, Sendable {
  /// The spaces that there are.
  public var spaces: Int
  /// All of their ``SpaceUsage/bytes``.
  public var bytes: Int
  /// All of their ``SpaceUsage/keptBytes``.
  public var keptBytes: Int
  /// `nil` for a store without a database server.
  public var database: DatabaseStatistics?

  public init(spaces: Int, bytes: Int, keptBytes: Int, database: DatabaseStatistics? = nil) {
    self.spaces = spaces
    self.bytes = bytes
    self.keptBytes = keptBytes
    self.database = database
  }
}

/// How a database server stands.
public struct DatabaseStatistics: Hashable, Sendable {
  /// For how long the oldest transaction has kept vacuum from removing rows, as one that is left
  /// open does, or a backup by `pg_dump`; zero where there is none. `nil` where the server's role
  /// may not see the transactions of others.
  public var oldestSnapshot: Duration?
  /// Whether a commit waits for a standby that stores it. Otherwise what was acknowledged last can
  /// be lost with a failover.
  public var waitsForStandby: Bool
  /// The bytes of log that the nearest standby has not stored; `nil` where there is none, or the
  /// role may not see it.
  public var standbyLagBytes: Int?

  public init(oldestSnapshot: Duration?, waitsForStandby: Bool, standbyLagBytes: Int?) {
    self.oldestSnapshot = oldestSnapshot
    self.waitsForStandby = waitsForStandby
    self.standbyLagBytes = standbyLagBytes
  }
}

/// The connections of one process to a store's database.
public struct StoreConnections: Hashable, Sendable {
  public var inUse: Int
  public var limit: Int

  public init(inUse: Int, limit: Int) {
    self.inUse = inUse
    self.limit = limit
  }
}
#endif
