#if Server
import TernCore

extension SpaceService {
  /// Does what can wait, in one short transaction: writes down leases, lets go of old uploads,
  /// trims what a snapshot stands for and every reader has, and removes the bytes of all that.
  ///
  /// To be called for every space now and then, an hour apart or so, as ``TernServerApplication``
  /// does; a space where nobody does is never trimmed but after an upload. A space that is on its
  /// way to another store, and takes nothing here, waits.
  /// - Returns: whether there is more to remove, so that it should be called again.
  public func maintain(_ space: SpaceName) throws -> Bool {
    try SpaceMaintenance(service: self).run(space)
  }
}

/// What a space's maintenance writes in one transaction, and then lets go of in memory.
struct SpaceMaintenance {
  let service: SpaceService

  /// - Returns: whether there is more to remove.
  func run(_ space: SpaceName) throws -> Bool {
    let (noted, hasMore) = try service.access.look(at: space) { try write($0) }
    service.leases.remove(noted, in: space)
    return hasMore
  }

  /// The same unless another process is at the space: then `nil`.
  func runUnlessLocked(_ space: SpaceName) throws -> Bool? {
    guard let done = try service.access.updateUnlessLocked(space, { try write($0) }) else {
      return nil
    }
    service.leases.remove(done.noted, in: space)
    return done.hasMore
  }

  private func write(_ space: LockedSpace) throws -> (noted: [ReplicaID: Lease], hasMore: Bool) {
    try space.ensureRoom()
    guard space.rows.standing.phase.isServed else { return ([:], false) }
    // Under the space's lock, as what is written at once is.
    let noted = service.leases.waiting(in: space.name)
    return (noted, try space.upkeep.run(noted))
  }
}
#endif
