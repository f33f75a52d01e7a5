import GRDB
import Synchronization
import TernDatabase

/// Knows whether a commit that waited for no sync may be lost for good, though every
/// program sees it.
///
/// A sync that fails can leave the system taking for written what it did not write. All later
/// commits then stand in the log behind something that is not there, however well they are synced,
/// and losing power would end the log before them. In the file itself they are safe: the worker's
/// next transaction moves them there first. What the app commits before that is not.
final class UnsyncedLog: TransactionObserver, Sendable {
  private enum Log {
    case synced
    /// Since the last time that something was moved, commits were made without a sync.
    case unsynced
    /// And a transaction has failed after them.
    case doubtful

    mutating func noteFailure() { if self == .unsynced { self = .doubtful } }
  }

  /// Of a COMMIT that fails GRDB tells nobody the end.
  private let state = Mutex((log: Log.synced, isCommitting: false))

  func noteUnsynced() { state.withLock { if $0.log == .synced { $0.log = .unsynced } } }

  func noteFailure() { state.withLock { $0.log.noteFailure() } }

  /// Moves what is doubtful into the file; outside of transactions.
  ///
  /// - Throws: `DatabaseError`; what is doubtful is so until this succeeds, which a
  ///   reader can prevent.
  func mend(_ db: Database) throws {
    let isDoubtful = state.withLock { state in
      if state.isCommitting { state.log.noteFailure() }
      state.isCommitting = false
      return state.log == .doubtful
    }
    guard isDoubtful, try Durability.moveLog(db) else { return }
    state.withLock { $0.log = .synced }
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() { state.withLock { $0.isCommitting = true } }
  func databaseDidCommit(_ db: Database) { state.withLock { $0.isCommitting = false } }

  /// Also of a transaction that the app took back: nobody says why it ended.
  func databaseDidRollback(_ db: Database) {
    state.withLock {
      $0.isCommitting = false
      $0.log.noteFailure()
    }
  }
}
