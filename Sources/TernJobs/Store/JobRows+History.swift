import GRDB
import TernCore

/// What has ended: out of the way of what has not.
extension JobRows {
  /// Moves a job that has ended to the history, without what nobody needs of it any more.
  ///
  /// - Returns: paths of files to unlink.
  func conclude(_ job: JobID, _ state: JobState, at now: WallTime) throws -> [String] {
    try run(
      """
      INSERT INTO \(JobTables.history) (id, kind, service, lane, state, since_ms, ready_ms, starts,
        failures, enqueued_ms, progress, message, priority, unique_key)
      SELECT id, kind, service, lane, ?, ?, min(ready_ms, ?), starts, failures, enqueued_ms, progress,
        message, priority, unique_key
      FROM \(JobTables.job) WHERE id = ?
      """, [state.rawValue, now.milliseconds, now.milliseconds, job.rawValue])
    try run("DELETE FROM \(JobTables.job) WHERE id = ?", [job.rawValue])
    try run(
      "UPDATE \(JobTables.queue) SET unfinished = unfinished - 1, ended = ended + 1")
    try dropCheckpoints(of: job)
    try dropErrors(of: job)
    return try dropFiles(of: job)
  }

  /// Keeps the newest of what has ended. Those that ended after now, because the clock was set back
  /// since, are older than what ended now.
  func trimHistory(at now: WallTime) throws {
    try run(
      "UPDATE \(JobTables.history) SET since_ms = ? - 1 WHERE since_ms > ?",
      [now.milliseconds, now.milliseconds])
    let ended: Int = try row("SELECT ended FROM \(JobTables.queue)")![0]
    var removed = 0
    if ended > limits.keptDone {
      try run(
        """
        DELETE FROM \(JobTables.history) WHERE id IN (
          SELECT id FROM \(JobTables.history) ORDER BY since_ms, id LIMIT ?)
        """, [ended - limits.keptDone])
      removed += db.changesCount
    }
    if let longest = limits.keptFor {
      try run(
        "DELETE FROM \(JobTables.history) WHERE since_ms < ?",
        [WallTime(notAfter: now.duration - longest).milliseconds])
      removed += db.changesCount
    }
    if removed > 0 { try run("UPDATE \(JobTables.queue) SET ended = ended - ?", [removed]) }
  }

  /// - Returns: whether there was such a job.
  func removeEnded(_ job: JobID) throws -> Bool {
    try run("DELETE FROM \(JobTables.history) WHERE id = ?", [job.rawValue])
    if db.changesCount == 0 { return false }
    try run("UPDATE \(JobTables.queue) SET ended = ended - 1")
    return true
  }

  /// Nothing more is to happen to a job. A handler that runs is told at its next checkpoint, and by
  /// cancellation.
  ///
  /// - Returns: paths of files to unlink.
  func cancel(_ job: JobID, _ found: Found, at now: WallTime) throws -> [String] {
    var life = found.life
    _ = life.handle(.cancelled)
    try tell(found.service, .ended(job))
    let paths = try conclude(job, life.state, at: now)
    try trimHistory(at: now)
    return paths
  }
}
