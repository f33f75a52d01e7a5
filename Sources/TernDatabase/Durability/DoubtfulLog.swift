import GRDB
import GRDBSQLite

/// Has a connection's log written once more where a part of it may be lost for good, though every
/// program sees it: before the next commit adds to the log, be it the app's.
///
/// A sync that fails can leave the system taking for written what it did not write, whichever
/// process wrote it. All later commits then stand in the log behind something that is not there,
/// however well they are synced, and losing power would end the log before them. So the log is in
/// doubt once a commit has failed, and at first: what a `DatabasePool` commits as it is opened
/// waits for no sync, nor may what others did.
///
/// It hears of no sync that fails in a checkpoint, whose error SQLite tells to nobody where it
/// makes that by itself, nor of one that fails in another process. And what moves a log that is
/// not whole into the file before that next commit, another's checkpoint or the end of
/// the last connection, it does not prevent.
final class DoubtfulLog: TransactionObserver {
  /// Whose queue alone calls this.
  private let connection: OpaquePointer?
  private var isDoubtful = true
  /// Of a COMMIT that fails GRDB tells nobody the end.
  private var isCommitting = false
  /// What the connection had changed in all as it began the last commit: tells that transaction
  /// from later ones.
  private var changes: Int32 = 0

  init(of db: Database) { connection = db.sqliteConnection }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}

  /// - Throws: `DatabaseError`, which takes the transaction back: behind a log that
  ///   is not whole it would not last.
  func databaseWillCommit() throws {
    noteEnd(failed: true)
    // Without the lock others may append to the log, or begin it anew; but who has none
    // writes nothing, and has nothing to lose.
    guard let connection, sqlite3_txn_state(connection, "main") == SQLITE_TXN_WRITE else { return }
    if isDoubtful { try Durability.rewriteLog(connection) }
    (isDoubtful, isCommitting) = (false, true)
    changes = sqlite3_total_changes(connection)
  }

  func databaseDidCommit(_ db: Database) { noteEnd(failed: false) }

  /// Of a commit that an observer of the app's refuses nothing is written. Another end is that of a
  /// later transaction, after a commit that failed; so is a refusal by an observer that is asked
  /// before this one.
  func databaseDidRollback(_ db: Database) {
    let code = ResultCode(rawValue: sqlite3_extended_errcode(connection))
    let isRefusal =
      code == .SQLITE_CONSTRAINT_COMMITHOOK && sqlite3_total_changes(connection) == changes
    noteEnd(failed: !isRefusal)
  }

  /// What a transaction has synced before it comes to its commit is a log that begins anew,
  /// before which there is nothing to lose.
  private func noteEnd(failed: Bool) {
    if failed, isCommitting { isDoubtful = true }
    isCommitting = false
  }
}
