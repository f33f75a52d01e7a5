import GRDB
import TernCore
import TernDatabase

/// The queue's own row: its random id, how many jobs it has, and which worker works.
struct QueueCounts {
  let connection: JobConnection

  // MARK: - How many

  func unfinished() throws -> Int {
    let statement = try FastStatement(connection.db, Self.counted)
    return try statement.first { statement.int(0) }!
  }

  func ended() throws -> Int {
    let statement = try FastStatement(connection.db, Self.endedCounted)
    return try statement.first { statement.int(0) }!
  }

  /// - Throws: ``JobQueueError`` `.tooManyJobs`.
  func addUnfinished() throws {
    let limits = connection.limits
    let isFollowUp = AttemptCommit.database == ObjectIdentifier(connection.db)
    let limit = isFollowUp ? limits.jobsAndFollowUps : limits.jobs
    let statement = try FastStatement(connection.db, Self.addition)
    statement.bindAll(Planted.isActive(.limitIgnored) ? Int.max : limit)
    if try !statement.runCounting() {
      var error = JobQueueError(
        .tooManyJobs,
        "the queue holds \(limit) jobs that have not ended; let them run or remove some")
      if let queue = try connection.row("SELECT id FROM \(JobTables.queue)") {
        error.full = .init(queue: queue[0], count: try unfinished())
      }
      throw error
    }
  }

  func recountUnfinished() throws {
    try connection.run(
      "UPDATE \(JobTables.queue) SET unfinished = (SELECT count(*) FROM \(JobTables.job))")
  }

  func removeUnfinished() throws {
    try connection.run("UPDATE \(JobTables.queue) SET unfinished = unfinished - 1")
  }

  /// Of so many that have ended, and so many that are kept no longer.
  func conclude(_ count: Int, removed: Int) throws {
    let counting = try FastStatement(connection.db, Self.counting)
    counting.bindAll(count, count - removed)
    try counting.run()
  }

  func removeEnded() throws {
    try connection.run("UPDATE \(JobTables.queue) SET ended = ended - 1")
  }

  private static let counted = "SELECT unfinished FROM \(JobTables.queue)"
  private static let endedCounted = "SELECT ended FROM \(JobTables.queue)"
  private static let addition =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished + 1 WHERE unfinished < ?"
  private static let counting =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished - ?, ended = ended + ?"

  // MARK: - Who works

  func takeOver() throws { try connection.run("UPDATE \(JobTables.queue) SET worker = worker + 1") }

  func worker() throws -> Int64 {
    try connection.row("SELECT worker FROM \(JobTables.queue)")![0]
  }

  /// What a look for jobs begins with.
  struct Outset {
    /// The queue's random id.
    let queue: String
    let hasGates: Bool
    let hasPauses: Bool
    /// What jobs require was not there.
    let hasUnmet: Bool
    /// Credentials of lanes were refused.
    let hasHeldLanes: Bool
    /// When the first of the jobs that are not due is.
    let next: WallTime?
  }

  /// A lock file that somebody removes lets two workers run. The second has freed what the first
  /// ran, and the first is to start nothing any more.
  ///
  /// - Parameter own: what ``JobTransaction/recover(kinds:leftBehind:at:)`` said.
  /// - Throws: ``JobQueueError`` `.workerRunning`.
  func outset(_ own: Int64) throws -> Outset {
    let statement = try FastStatement(connection.db, Self.outset)
    let outset = try statement.first {
      statement.int64(0) == own
        ? Outset(
          queue: statement.text(1), hasGates: statement.bool(2), hasPauses: statement.bool(3),
          hasUnmet: statement.bool(4), hasHeldLanes: statement.bool(5),
          next: statement.isNull(6) ? nil : WallTime(milliseconds: statement.int64(6)))
        : nil
    }
    if let outset = outset ?? nil { return outset }
    throw JobQueueError(
      .workerRunning, "another worker has taken over; was its lock file removed?")
  }

  private static let outset = """
    SELECT worker, id, EXISTS (SELECT 1 FROM \(JobTables.gate)),
      EXISTS (SELECT 1 FROM \(JobTables.pause)), EXISTS (SELECT 1 FROM \(JobTables.unmet)),
      EXISTS (SELECT 1 FROM \(JobTables.credential) WHERE is_held = 1),
      (SELECT min(ready_ms) FROM \(JobTables.job) WHERE \(JobTables.isLater))
    FROM \(JobTables.queue)
    """
}
