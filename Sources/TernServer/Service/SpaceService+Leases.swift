#if Server
import TernCore

extension SpaceService {
  /// Up to where a replica has merged everything, and since when, written down or not.
  package func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease? {
    try leases[space, replica] ?? store.lease(of: replica, in: space)
  }

  /// Writes a renewal down before its page is given out.
  ///
  /// Returns what the store threw, where that is no reason to keep the page back: a full disk must
  /// not end reading too. The renewal is noted then, for when the disk has room.
  func settle(_ renewal: LeaseRenewal) throws -> (any Error)? {
    do {
      if try reserve.shortage() != nil, renewal.canWait {
        _ = leases.note(renewal)
        return nil
      }
      try reserve.check()
      try access.update(renewal.space) {
        try $0.ensureRoom()
        try $0.leases.write(renewal, leases)
      }
      return nil
    } catch let error as RemoteError {
      throw error
    } catch {
      guard renewal.canWait else { throw error }
      _ = leases.note(renewal)
      return error
    }
  }
}
#endif
