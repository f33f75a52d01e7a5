import GRDB
import TernCore
import TernDatabase

/// What has ended: out of the way of what has not.
struct HistoryRows {
  let connection: JobConnection

  /// What else there is of a job.
  typealias Parts = (checkpoints: Bool, failures: Bool, files: Bool)

  /// Moves a job that has ended here.
  func take(_ job: JobID, _ state: JobState, at now: WallTime) throws -> Parts {
    try connection.run(
      Self.move, [state.rawValue, now.milliseconds, now.milliseconds, job.rawValue])
    try JobRows(connection: connection).remove(job)
    let parts = try FastStatement(connection.db, Self.parts)
    parts.bindAll(job.rawValue)
    return try parts.first { (parts.bool(0), parts.bool(1), parts.bool(2)) }!
  }

  private static let move = """
    INSERT INTO \(JobTables.history) (id, kind, service, lane, state, since_ms, ready_ms, starts,
      failures, enqueued_ms, progress, message, priority, unique_key)
    SELECT id, kind, service, lane, ?, ?, min(ready_ms, ?), starts, failures, enqueued_ms, progress,
      message, priority, unique_key
    FROM \(JobTables.job) WHERE id = ?
    """
  private static let parts = """
    SELECT \([JobTables.checkpoint, JobTables.error, JobTables.file]
      .map { "EXISTS (SELECT 1 FROM \($0) WHERE job = ?1)" }.joined(separator: ", "))
    """

  /// Those that ended after now, because the clock was set back since, are older than what ended
  /// now.
  func age(at now: WallTime) throws {
    try connection.run(Self.aging, [now.milliseconds, now.milliseconds])
  }

  /// Keeps the newest.
  ///
  /// - Parameter count: how many there are.
  /// - Returns: how many are kept no longer.
  func trim(from count: Int, at now: WallTime) throws -> Int {
    var removed = 0
    if count > connection.limits.keptDone {
      try connection.run(Self.trim, [count - connection.limits.keptDone])
      removed += connection.db.changesCount
    }
    if let longest = connection.limits.keptFor {
      try connection.run(
        "DELETE FROM \(JobTables.history) WHERE since_ms < ?",
        [WallTime(notAfter: now.duration - longest).milliseconds])
      removed += connection.db.changesCount
    }
    return removed
  }

  private static let aging =
    "UPDATE \(JobTables.history) SET since_ms = ? - 1 WHERE since_ms > ?"
  private static let trim = """
    DELETE FROM \(JobTables.history) WHERE id IN (
      SELECT id FROM \(JobTables.history) ORDER BY since_ms, id LIMIT ?)
    """

  /// - Returns: whether it was here.
  func remove(_ job: JobID) throws -> Bool {
    try connection.run("DELETE FROM \(JobTables.history) WHERE id = ?", [job.rawValue])
    return connection.db.changesCount > 0
  }
}
