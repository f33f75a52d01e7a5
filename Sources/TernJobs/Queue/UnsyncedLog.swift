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
  private enum State {
    case synced
    /// Since the last time that something was moved, commits were made without a sync.
    case unsynced
    /// And a transaction has failed after them.
    case doubtful
  }

  private let state = Mutex(State.synced)

  func noteUnsynced() { state.withLock { if $0 == .synced { $0 = .unsynced } } }

  /// Moves what is doubtful into the file; outside of transactions.
  ///
  /// - Throws: `DatabaseError`; what is doubtful is so until this succeeds, which a
  ///   reader can prevent.
  func mend(_ db: Database) throws {
    guard state.withLock({ $0 == .doubtful }), try Durability.moveLog(db) else { return }
    state.withLock { $0 = .synced }
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}

  /// Also of a transaction that the app took back: nobody says why it ended.
  func databaseDidRollback(_ db: Database) { noteFailure() }

  func noteFailure() { state.withLock { if $0 == .unsynced { $0 = .doubtful } } }
}
