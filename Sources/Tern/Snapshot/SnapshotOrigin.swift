import TernCore

/// Where a snapshot comes from, and what the remote says of it.
package struct SnapshotOrigin: Hashable, Sendable {
  package var place: RemotePlace
  /// Of every replica, the last operation that it holds; empty where that is not known.
  package var heads = VersionVector()
  /// The remote's clock, or the newest time that its space took, where that is later; 0 where
  /// it has none.
  package var nowMilliseconds: Int64 = 0
  /// The last operation that the remote takes of each replica that was banned there. What is here
  /// beyond that goes.
  package var bans: [ReplicaID: UInt64] = [:]
  /// Whether the app takes it although it takes something away.
  package var isAccepted = false

  package init(place: RemotePlace) {
    self.place = place
  }
}
