import Foundation
import GRDB
import TernDatabase

extension JobQueue {
  /// Tells who follows ``announcements()``, in this process and in others, once the caller's
  /// transaction is committed: that the result of a job is there, say. Enqueueing tells by itself.
  ///
  /// - Throws: ``JobQueueError`` `.notInstalled`, `DatabaseError`.
  public func announce(in db: Database) throws {
    // Outside of a transaction the commit is that of the savepoint.
    try db.inSavepoint {
      _ = try JobTransaction(db, limits: limits)
      try db.notifyChanges(in: Table(JobTables.job))
      return .commit
    }
  }

  /// One element for all that was enqueued, or announced by ``announce(in:)``, since the last one
  /// was taken, whichever process did it, until the reader's task is cancelled. An element is a
  /// hint, and may come without a change.
  ///
  /// For a program that shows what another one works on. `ValueObservation` and ``updates`` tell of
  /// this process's own commits only. Where the system does not tell of others, there is an element
  /// each ``JobEnvironment/pollInterval``.
  public func announcements() -> AsyncStream<Void> {
    // What is not there can't be touched. Where it can't be made, no worker can work either.
    if access(lockPath, F_OK) != 0 { _ = try? FileLock.opened(lockPath) }
    if let events = events(.touched) { return events }
    let environment = environment
    return AsyncStream {
      // The sleep throws when the reader is cancelled.
      (try? await environment.sleep(for: environment.pollInterval)).map { _ in () }
    }
  }
}
