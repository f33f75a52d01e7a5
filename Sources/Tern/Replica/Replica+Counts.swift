import TernCore
import TernDatabase

extension Replica {
  /// How much is noted, logged, quarantined and deferred, and which conflicts met here, off the
  /// caller's actor.
  ///
  /// - Throws: `DatabaseError`.
  public func counts() async throws -> ReplicaCounts {
    let store = store
    return try await BlockingWork.shared.run { try store.counts() }
  }
}
