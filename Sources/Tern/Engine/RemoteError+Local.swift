import Foundation
import GRDB
import TernCore
import TernDatabase

/// Errors that the engine reports as the remote's are.
extension RemoteError {
  /// What is not the remote's own word: the database's errors and operations that cannot merge.
  ///
  /// - Parameter action: what threw it, where that was one of the session's.
  init(of error: any Error, in action: SyncSession.Action? = nil) {
    if let error = error as? RemoteError {
      self = error
    } else if let error = error as? MergeError, error.code == .foreignOwn {
      self.init(
        .foreignOwn, error.description, replica: error.replica, sequence: error.sequence)
    } else if case .loadSnapshot = action, SnapshotExchange.isUnloadable(error) {
      self.init(.snapshotUnloadable, "\(error)")
    } else {
      let isPassing = (error as? DatabaseError)?.passes ?? false
      self.init(isPassing ? .busy : .local, "\(error)")
    }
  }

  /// - Parameter fork: why it can't be given a snapshot.
  static func noBase(_ fork: ReplicaFork?) -> RemoteError {
    let lack = "the remote lacks operations that this device's log no longer has"
    if let fork {
      return RemoteError(
        .sequenceConflict,
        "\(lack), and can't be given a snapshot, since \(fork); or begin another space",
        replica: fork.replica, sequence: fork.sequence)
    }
    return RemoteError(
      .snapshotsUnsupported,
      "\(lack), and keeps no snapshots; a device that has them can bring them, otherwise begin "
        + "another space")
  }

  /// What a remote's clock shows, in milliseconds since 1970.
  ///
  /// - Throws: where that is no time that can be.
  static func checked(clock now: Date) throws -> Int64 {
    let milliseconds = now.milliseconds
    guard HybridTime.believedMilliseconds.contains(milliseconds) else {
      throw RemoteError(.unexpectedAnswer, "the remote's clock shows no time that can be")
    }
    return milliseconds
  }
}

extension SyncSession {
  /// Not a position that tells nothing, as that of an own push does.
  func isNews(_ signal: SyncSignals.Signal) -> Bool {
    guard case .remotePosition(let position) = signal else { return true }
    return isNews(position)
  }
}
