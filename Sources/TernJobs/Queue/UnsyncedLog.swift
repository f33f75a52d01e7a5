import GRDB
import Synchronization
import TernDatabase

/// Knows whether a commit that waited for no sync may be lost for good, though every
/// program sees it.
///
/// A sync that fails can leave the system taking for written what it did not write. All later
/// commits then stand in the log behind something that is not there, however well they are synced,
/// and losing power would end the log before them. So the next commit of this connection, be it the
/// app's, writes the log once more before its own part of it.
///
/// It hears of no sync that fails in a checkpoint, whose error SQLite tells to nobody where it
/// makes that by itself, nor of one that fails in another process. And what moves a log that is
/// not whole into the file before that next commit, another's checkpoint or the end of
/// the last connection, it does not prevent.
final class UnsyncedLog: TransactionObserver, Sendable {
  private struct State {
    var log = Log.synced
    /// Of a COMMIT that fails GRDB tells nobody the end.
    var isCommitting = false
    /// The one that commits, `nil` before the first commit without a sync.
    var connection: Connection?

    /// What a transaction has synced before it comes to its commit is a log that begins anew,
    /// before which there is nothing to lose.
    mutating func noteEnd(failed: Bool) {
      if failed, isCommitting, log == .unsynced { log = .doubtful }
      isCommitting = false
    }
  }

  private enum Log {
    case synced
    /// Since the log was written last as a whole, commits were made without a sync.
    case unsynced
    /// And a commit has failed after them.
    case doubtful
  }

  /// Unchecked, since only what that connection itself calls uses it.
  private struct Connection: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private let state = Mutex(State())

  /// After a commit on the writing connection.
  func noteUnsynced(_ db: Database) {
    let connection = db.sqliteConnection.map(Connection.init)
    state.withLock { state in
      state.connection = connection
      if state.log == .synced { state.log = .unsynced }
    }
  }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}

  /// Before the commit adds to the log.
  ///
  /// - Throws: `DatabaseError`, which takes the transaction back: behind a log that
  ///   is not whole it would not last.
  func databaseWillCommit() throws {
    let doubtful = state.withLock { state in
      state.noteEnd(failed: true)
      state.isCommitting = true
      return state.log == .doubtful ? state.connection : nil
    }
    // A transaction that writes nothing has no lock, and nothing to lose.
    guard let doubtful, try Durability.rewriteLog(doubtful.pointer) else { return }
    state.withLock { $0.log = .synced }
  }

  func databaseDidCommit(_ db: Database) { state.withLock { $0.noteEnd(failed: false) } }

  /// Of one that comes to its commit, an observer of the app's may have said no, or SQLite.
  func databaseDidRollback(_ db: Database) { state.withLock { $0.noteEnd(failed: true) } }
}
