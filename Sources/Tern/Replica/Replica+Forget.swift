import Foundation
import TernCore
import TernDatabase

extension Replica {
  /// Forgets a remote that this replica will not sync with again, in one transaction: its cursor,
  /// what it was last known to hold, the last comparison and its forks. It keeps the log no longer.
  ///
  /// ```swift
  /// let former = HTTPRemote(url, space: "home", token: { token })
  /// try await replica.forget(remoteID: former.id)
  /// ```
  ///
  /// Stop its engine first: one that runs makes it known again. A remote that is forgotten and used
  /// all the same begins anew: what is pulled again is passed over, and nothing is pushed twice.
  ///
  /// No operation is forgotten by this. Which of this replica's own the remote was offered stays
  /// noted, because others may have them from there: they keep their times.
  ///
  /// - Parameter remoteID: ``Remote/id``; or ``ReplicaFork/remote`` of what another device told,
  ///   once you have done something about it, or that device is gone.
  /// - Returns: whether anything was known of it.
  /// - Throws: `DatabaseError`, ``ReplicaError``.
  @discardableResult
  public func forget(remoteID: String) async throws -> Bool {
    let store = store
    return try await BlockingWork.shared.run { try store.forget(remoteID: remoteID) }
  }
}

extension SQLiteReplicaStore {
  /// ``Replica/forget(remoteID:)`` on the caller's thread.
  package func forget(remoteID: String) throws -> Bool {
    let wasKnown = try access.write { transaction in
      let wasTold = try ReplicaFork.witness(in: remoteID).map { witness in
        try witness != transaction.ownID && transaction.toldForks.forget(witness)
      }
      return try transaction.remotes.forget(remoteID) || wasTold ?? false
    }
    if let path = access.snapshotPath(of: remoteID) {
      // Mostly there is none; one that stays takes room and does no harm.
      try? FileManager.default.removeItem(atPath: path)
    }
    return wasKnown
  }
}
