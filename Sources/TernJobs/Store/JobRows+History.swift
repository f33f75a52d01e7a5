import GRDB
import TernCore
import TernDatabase

/// What has ended: out of the way of what has not.
extension JobRows {
  /// Moves a job that has ended to the history, without what nobody needs of it any more. To be
  /// followed by ``trimHistory(after:at:)``, which counts it.
  ///
  /// - Returns: paths of files to unlink.
  func conclude(_ job: JobID, _ state: JobState, at now: WallTime) throws -> [String] {
    try run(
      Self.move, [state.rawValue, now.milliseconds, now.milliseconds, job.rawValue])
    try run(Self.removal, [job.rawValue])
    let parts = try FastStatement(db, Self.parts)
    parts.bindAll(job.rawValue)
    let (checkpoints, errors, files) = try parts.first {
      (parts.bool(0), parts.bool(1), parts.bool(2))
    }!
    if checkpoints { try dropCheckpoints(of: job) }
    if errors { try dropErrors(of: job) }
    return files ? try dropFiles(of: job) : []
  }

  private static let move = """
    INSERT INTO \(JobTables.history) (id, kind, service, lane, state, since_ms, ready_ms, starts,
      failures, enqueued_ms, progress, message, priority, unique_key)
    SELECT id, kind, service, lane, ?, ?, min(ready_ms, ?), starts, failures, enqueued_ms, progress,
      message, priority, unique_key
    FROM \(JobTables.job) WHERE id = ?
    """
  private static let removal = "DELETE FROM \(JobTables.job) WHERE id = ?"
  private static let parts = """
    SELECT \([JobTables.checkpoint, JobTables.error, JobTables.file]
      .map { "EXISTS (SELECT 1 FROM \($0) WHERE job = ?1)" }.joined(separator: ", "))
    """

  /// Counts what has just ended and keeps the newest of all that has. Those that ended after now,
  /// because the clock was set back since, are older than what ended now.
  func trimHistory(after count: Int, at now: WallTime) throws {
    try run(Self.aging, [now.milliseconds, now.milliseconds])
    let counted = try FastStatement(db, Self.counted)
    let ended = try counted.first { counted.int(0) }! + count
    var removed = 0
    if ended > limits.keptDone {
      try run(Self.trim, [ended - limits.keptDone])
      removed += db.changesCount
    }
    if let longest = limits.keptFor {
      try run(
        "DELETE FROM \(JobTables.history) WHERE since_ms < ?",
        [WallTime(notAfter: now.duration - longest).milliseconds])
      removed += db.changesCount
    }
    let counting = try FastStatement(db, Self.counting)
    counting.bindAll(count, count - removed)
    try counting.run()
  }

  private static let aging =
    "UPDATE \(JobTables.history) SET since_ms = ? - 1 WHERE since_ms > ?"
  private static let counted = "SELECT ended FROM \(JobTables.queue)"
  private static let counting =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished - ?, ended = ended + ?"
  private static let trim = """
    DELETE FROM \(JobTables.history) WHERE id IN (
      SELECT id FROM \(JobTables.history) ORDER BY since_ms, id LIMIT ?)
    """

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
    try trimHistory(after: 1, at: now)
    return paths
  }
}
