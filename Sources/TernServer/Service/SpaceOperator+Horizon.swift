#if Server
import TernCore

/// What a space waits for before it trims.
public struct SpaceHorizon: Hashable, Sendable {
  /// The newest position.
  public var position: UInt64
  /// Operations up to here are served no more.
  public var trimmed: UInt64
  /// That of the older one of the snapshots that are kept, beyond which nothing is trimmed; 0 where
  /// there is no snapshot.
  public var snapshot: UInt64
  /// Those whose leases the space waits for, the one that has read least first.
  public var readers: [SpaceReader]
}

/// A replica that reads a space.
public struct SpaceReader: Hashable, Sendable {
  public var replica: ReplicaID
  /// Who claimed it.
  public var member: MemberName?
  /// The newest that this service has noted, or what is written down, which is up to a day older
  /// than what another server has noted.
  public var lease: Lease
}

extension SpaceOperator {
  /// What a space waits for before it trims.
  ///
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  public func horizon(of space: SpaceName) throws -> SpaceHorizon {
    try access.look(at: space) { space in
      try space.ensureIsThere()
      let rows = space.rows
      let leases = service.leases.newest(of: try rows.leases(), in: space.name)
      let records = try rows.authorRecords(of: Set(leases.keys))
      let complete = try rows.snapshots().filter(\.isComplete)
      let readers = leases.map { replica, lease in
        SpaceReader(replica: replica, member: records[replica]?.member, lease: lease)
      }
      return SpaceHorizon(
        position: rows.position, trimmed: try rows.trimmed,
        snapshot: complete.suffix(SnapshotIntake.keptSnapshots).first?.position ?? 0,
        readers: readers.sorted {
          ($0.lease.position, $0.replica) < ($1.lease.position, $1.replica)
        })
    }
  }

  /// Removes a replica's lease, durably, so that the space waits for it no more. A device that
  /// comes back has a lease again with its next pull. If what it lacks was trimmed, it begins with
  /// the newest snapshot (INV-12), and loses nothing.
  ///
  /// - Returns: whether it had one.
  /// - Throws: ``RemoteError`` with `not-found` where there is no such space; the store's errors.
  @discardableResult
  public func dropLease(of replica: ReplicaID, in space: SpaceName) throws -> Bool {
    try access.update(space) { locked in
      try locked.ensureIsThere()
      let book = service.leases
      if let noted = book[space, replica] { book.remove([replica: noted], in: space) }
      guard try locked.rows.leases()[replica] != nil else { return false }
      try locked.rows.set(nil as Lease?, of: replica)
      try locked.record(.releaseReplica, ["replica": "\(replica)"])
      return true
    }
  }
}
#endif
