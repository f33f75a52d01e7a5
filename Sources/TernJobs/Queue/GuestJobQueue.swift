import GRDB
import TernCore
import TernDatabase

/// The queue in a database that another process may have open, for whoever looks in from outside.
/// Unlike ``JobQueue`` it makes no table, folder or lock.
package struct GuestJobQueue {
  private let rows: JobTransaction

  /// - Returns: `nil` where the database has no queue.
  /// - Throws: ``JobQueueError`` `.newerFormat` and `.olderFormat`, `DatabaseError`.
  package init?(_ db: Database) throws {
    guard try db.tableExists(JobTables.queue),
      let format = try Int.fetchOne(db, sql: "SELECT format FROM \(JobTables.queue)")
    else { return nil }
    if format > JobTables.format {
      throw JobQueueError(
        .newerFormat, "the job queue was made by a newer Tern (format \(format)); use its command")
    }
    let isComplete = try JobTables.added.allSatisfy { try db.tableExists($0) }
    guard format == JobTables.format, isComplete else {
      throw JobQueueError(
        .olderFormat,
        "an older Tern made the job queue (format \(format)); open it once with the app of today")
    }
    // How many ended jobs are kept is for the app to say.
    var limits = JobLimits()
    (limits.keptDone, limits.keptFor) = (.max, nil)
    rows = try JobTransaction(db, limits: limits)
  }

  /// All jobs and the gates that they wait for.
  ///
  /// - Throws: `DatabaseError`.
  package func overview() throws -> JobOverview {
    JobOverview(records: try rows.records(), gates: try rows.awaitedGates())
  }

  /// As ``JobQueue/retry(_:in:)``, in the caller's transaction. ``tellWorker(of:)`` once it is
  /// committed.
  ///
  /// - Returns: whether there was such a job.
  package func retry(_ id: JobID, at now: WallTime) throws -> Bool {
    guard let found = try rows.jobs.life(id) else { return false }
    return try rows.revive(id, found, at: now)
  }

  /// As ``JobQueue/cancel(_:in:)``, in the caller's transaction. The job's files stay until the app
  /// opens its queue the next time. ``tellWorker(of:)`` once it is committed.
  ///
  /// - Returns: whether there was such a job.
  package func cancel(_ id: JobID, at now: WallTime) throws -> Bool {
    guard let found = try rows.jobs.life(id), !found.life.state.hasEnded else { return false }
    // Only a folder's owner may unlink what is in it.
    _ = try rows.cancel(id, found, at: now)
    return true
  }

  /// Has the worker of the process that has one look at the database.
  ///
  /// - Parameter path: of the database.
  package static func tellWorker(of path: String) { FileWatch.touch(path + "-jobs.lock") }
}
