import GRDB
import TernCore

/// What has ended: out of the way of what has not.
struct HistoryRows {
  let connection: JobConnection

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

  private static let aging = "UPDATE \(JobTables.history) SET since_ms = ? - 1 WHERE since_ms > ?"
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
