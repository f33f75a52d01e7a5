import TernCore

extension SyncEngine {
  /// Gives the remote a snapshot. Where it only would have liked one, another device can give it
  /// too, and why this one could not is in ``status``.
  func cutSnapshot(isBase: Bool) async throws -> SyncSession.Event {
    do {
      // It would stand for what the remote has otherwise.
      guard try store.forks(at: remote.id).isEmpty else { return .cutSnapshot }
      try await snapshots.cut(heads: session.heads, isBase: isBase)
      status.update { $0.snapshotError = nil }
      return .cutSnapshot
    } catch  where error is RemoteError || error is SnapshotError {
      let error = RemoteError(of: error)
      if !error.isTransient {
        // Another device was first.
        let isGiven = error.code == .snapshotSuperseded
        status.update { $0.snapshotError = isGiven ? nil : error }
      }
      return .failed(error, jitter: environment.jitter())
    }
  }
}
