import GRDB
import TernCore
import TernDatabase

/// The queue's tables in one transaction. The rows of each are a type of their own; here is what
/// concerns several.
struct JobTransaction {
  let connection: JobConnection
  /// `nil` where nobody observes, or nothing is changed.
  let events: PendingEvents?

  var db: Database { connection.db }
  var limits: JobLimits { connection.limits }
  var queue: QueueCounts { QueueCounts(connection: connection) }
  var jobs: JobRows { JobRows(connection: connection) }
  var history: HistoryRows { HistoryRows(connection: connection) }
  var checkpoints: CheckpointRows { CheckpointRows(connection: connection) }
  var transfers: JobTransfers { JobTransfers(rows: self) }
  var files: FileRows { FileRows(connection: connection) }
  var failures: FailureRows { FailureRows(connection: connection) }
  var gates: GateRows { GateRows(connection: connection) }
  var unmet: UnmetRows { UnmetRows(connection: connection) }
  var pauses: PauseRows { PauseRows(connection: connection) }
  var credentials: CredentialRows { CredentialRows(connection: connection) }
  var buckets: BucketRows { BucketRows(connection: connection) }

  /// - Throws: ``JobQueueError`` `.notInstalled`.
  init(_ db: Database, limits: JobLimits, events: PendingEvents? = nil) throws {
    self.init(unlooked: db, limits: limits, events: events)
    do {
      // Cheaper than to ask GRDB for the table.
      try FastStatement(db, Self.look).run()
    } catch let error as DatabaseError {
      throw try missing(error)
    }
  }

  /// Without a look whether there are tables: whoever asks for this does ``missing(_:)``.
  init(unlooked db: Database, limits: JobLimits, events: PendingEvents? = nil) {
    (connection, self.events) = (JobConnection(db: db, limits: limits), events)
  }

  private static let look = "SELECT 1 FROM \(JobTables.queue)"

  /// What it means that a statement on the queue's tables failed.
  func missing(_ error: DatabaseError) throws -> any Error {
    guard error.resultCode == .SQLITE_ERROR, try !db.tableExists(JobTables.queue) else {
      return error
    }
    return JobQueueError(
      .notInstalled, "the database has no job queue any more; open the queue again")
  }

  // MARK: - A job's beginning

  /// What is new counts against the limit.
  func insert(_ job: NewJob, at now: WallTime) throws -> JobID {
    try queue.addUnfinished()
    let id = try jobs.insert(job, at: now)
    // The app has numbers begin anew (`sqlite_sequence`), and an older job ended under this one.
    _ = try removeEnded(id)
    return id
  }

  /// Makes a job that waits or is parked another one, with the same id.
  ///
  /// - Returns: the paths of files that no job has any more.
  func replace(_ id: JobID, by job: NewJob, at now: WallTime) throws -> [String] {
    if !Planted.isActive(.replacedInPart) { try checkpoints.drop(of: id) }
    try failures.drop(of: id)
    try jobs.replace(id, by: job, at: now)
    return try files.drop(of: id)
  }

  /// Where a job could not be inserted, and its transaction goes on.
  func recountUnfinished() throws {
    try connection.run(
      "UPDATE \(JobTables.queue) SET unfinished = (SELECT count(*) FROM \(JobTables.job))")
  }

  // MARK: - Its end

  /// Moves a job that has ended to the history, without what nobody needs of it any more. To be
  /// followed by ``trimHistory(after:at:)``, which counts it.
  ///
  /// - Returns: paths of files to unlink.
  func conclude(_ job: JobID, _ state: JobState, at now: WallTime) throws -> [String] {
    try connection.run(
      Self.move, [state.rawValue, now.milliseconds, now.milliseconds, job.rawValue])
    try jobs.remove(job)
    let parts = try FastStatement(db, Self.parts)
    parts.bindAll(job.rawValue)
    let has = try parts.first { (parts.bool(0), parts.bool(1), parts.bool(2)) }!
    if has.0 { try checkpoints.drop(of: job) }
    if has.1 { try failures.drop(of: job) }
    return has.2 ? try files.drop(of: job) : []
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

  /// Counts what has just ended and keeps the newest of all that has.
  func trimHistory(after count: Int, at now: WallTime) throws {
    try history.age(at: now)
    let removed = try history.trim(from: try queue.ended() + count, at: now)
    try queue.conclude(count, removed: removed)
  }

  /// - Returns: whether there was such a job.
  func removeEnded(_ job: JobID) throws -> Bool {
    guard try history.remove(job) else { return false }
    try queue.removeEnded()
    return true
  }

  /// Lets a job that failed or is parked begin again.
  ///
  /// - Returns: whether it had.
  func revive(_ job: JobID, _ found: JobRows.Found, at now: WallTime) throws -> Bool {
    var life = found.life
    guard life.state.isStuck else { return false }
    _ = life.handle(.revived)
    // The next attempt begins anew what was refused.
    try checkpoints.drop(.refusal, of: job)
    try jobs.store(life, of: job, since: now, ready: now)
    return true
  }

  /// Nothing more is to happen to a job. A handler that runs is told at its next checkpoint, and by
  /// cancellation.
  ///
  /// - Returns: paths of files to unlink.
  func cancel(_ job: JobID, _ found: JobRows.Found, at now: WallTime) throws -> [String] {
    var life = found.life
    _ = life.handle(.cancelled)
    try gates.tell(found.service, .ended(job))
    let paths = try conclude(job, life.state, at: now)
    try trimHistory(after: 1, at: now)
    return paths
  }

  /// - Returns: paths of files to unlink.
  func remove(_ job: JobID, _ found: JobRows.Found) throws -> [String] {
    try queue.removeUnfinished()
    try gates.tell(found.service, .ended(job))
    try checkpoints.drop(of: job)
    try failures.drop(of: job)
    let paths = try files.drop(of: job)
    try jobs.remove(job)
    return paths
  }
}

/// Whose commit the app's own code is called in.
enum AttemptCommit {
  /// The connection on which a running job stores a checkpoint. What it enqueues there takes,
  /// sooner or later, its own place.
  @TaskLocal static var database: ObjectIdentifier?
}
