import TernCore

/// Everything that a database file tells of one replica, read and never changed.
///
/// ```swift
/// let file = try DatabaseFileInspection(path: "library.sqlite")
/// for replica in file.replicas { print(replica.name, replica.log.operations) }
/// ```
///
/// `tern inspect FILE --json` prints the same.
public struct ReplicaInspection: Hashable, Sendable, Codable {
  /// The name that ``Replica/open(_:schema:migrator:name:durability:logRetention:inbox:)`` was
  /// given.
  public var name: String
  /// `nil` where what is stored is none.
  public var id: ReplicaID?
  /// The version of the tables that Tern keeps.
  package var format: Int
  /// Of the schema that the replica was last opened with.
  package var schemaVersion: Int
  /// The greatest time that was issued or merged, in milliseconds since 1970.
  package var lastTimeMilliseconds: Int64
  /// What is added to this device's clock, because a remote's says that it is wrong.
  package var clockCorrectionMilliseconds: Int64
  /// This replica first, then every other in the order in which they were met.
  package var authors: [Author]
  package var remotes: [Remote]
  public var log: Log
  /// Writes that no operation holds yet.
  public var unsealedChanges: Int
  public var tables: [Table]
  /// Rows that are in the state and not in their table, and those that are folded, by
  /// ``InboxKind``.
  public var quarantined: [String: Int]
  /// Operations that are in the log and wait: how many, and for what.
  public var pending: PendingOperations
  /// The first hundred of them, those that wait whole before those that wait in part.
  package var pendingOperations: [PendingOperation]
  /// Concurrent writes that met here, by what decided.
  package var conflicts: [String: Int]
  /// Replicas of whom a remote has other operations than are here, and ids of this device of which
  /// another one says so; the first hundred of each.
  package var forks: [ReplicaFork]
  /// The tables that Tern keeps for this replica, the largest first.
  package var storage: [Storage]

  /// One replica whose operations are here.
  public struct Author: Hashable, Sendable, Codable {
    /// `nil` where what is stored is none.
    public var id: ReplicaID?
    /// The newest sequence number in the log.
    package var stored: UInt64
    /// The newest that is in the state; less than ``stored`` while a group lacks fragments.
    package var merged: UInt64
  }

  public struct Remote: Hashable, Sendable, Codable {
    /// For ``HTTPRemote`` the URL of the space.
    public var id: String
    package var epoch: String
    /// `nil` before the first page.
    package var cursor: String?
    /// Up to which of this replica's own operations it acknowledged them.
    package var accepted: UInt64
  }

  public struct Log: Hashable, Sendable, Codable {
    public var operations: Int
    public var bytes: Int64
  }

  /// One table that syncs, or did.
  public struct Table: Hashable, Sendable, Codable {
    public var name: String
    package var isSynced: Bool
    /// Rows of the state that were inserted and not deleted, those quarantined included.
    package var aliveRows: Int
    /// Deleted rows, of which a tombstone is kept.
    package var deadRows: Int
    public var quarantined: [String: Int]
    public var unsealedChanges: Int
    /// Rows that no operation can hold.
    package var largeRows: Int
  }

  public struct Storage: Hashable, Sendable, Codable {
    package var table: String
    /// With its indexes where SQLite was built with `dbstat`, otherwise of the values alone.
    public var bytes: Int64
  }
}
