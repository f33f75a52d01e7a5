import GRDB
import TernCore
import TernDatabase

/// The jobs that have not ended.
struct JobRows {
  let connection: JobConnection

  // MARK: - One job

  func insert(_ job: NewJob, at now: WallTime) throws -> JobID {
    try connection.run(
      Self.insertion,
      [
        job.kind, job.service ?? "", job.lane, job.payload, job.version, JobState.waiting.rawValue,
        now.milliseconds, job.ready.milliseconds, job.ready <= now, job.priority, job.key,
        now.milliseconds, job.requirement.stored,
      ])
    return JobID(rawValue: connection.db.lastInsertedRowID)
  }

  // What is run for each job is put together once.
  private static let insertion = """
    INSERT INTO \(JobTables.job) (kind, service, lane, payload, version, state, since_ms, ready_ms,
      due, priority, unique_key, starts, failures, unreached, deaths, enqueued_ms, needs)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)
    """

  func replace(_ id: JobID, by job: NewJob, at now: WallTime) throws {
    // Idempotency keys hold the time of enqueueing: others' services must not take it for the old.
    try connection.run(
      """
      UPDATE \(JobTables.job) SET service = ?, lane = ?, needs = ?, payload = ?, version = ?, state = ?,
        since_ms = ?, ready_ms = ?, due = ?, priority = ?, failures = 0, unreached = 0, deaths = 0,
        enqueued_ms = max(enqueued_ms + 1, ?), progress = NULL, message = NULL, reason = NULL
      WHERE id = ?
      """,
      [
        job.service ?? "", job.lane, job.requirement.stored, job.payload, job.version,
        JobState.waiting.rawValue, now.milliseconds, job.ready.milliseconds, job.ready <= now,
        job.priority, now.milliseconds, id.rawValue,
      ])
  }

  struct Found {
    let life: JobLife
    let starts: Int
    let service: String?
    /// While it runs.
    var attempt: JobEvent.Attempt { .init(number: life.failures + 1, start: starts) }
  }

  func life(_ job: JobID) throws -> Found? {
    let statement = try FastStatement(connection.db, Self.reading)
    statement.bindAll(job.rawValue)
    return try statement.first {
      guard let state = JobState(rawValue: statement.int(0)) else { return nil }
      let life = JobLife(
        state: state, failures: statement.int(1), unreached: statement.int(2),
        deaths: statement.int(3))
      let service = statement.text(5)
      return Found(
        life: life, starts: statement.int(4), service: service.isEmpty ? nil : service)
    } ?? nil
  }

  private static let reading = """
    SELECT state, failures, unreached, deaths, starts, service FROM \(JobTables.job) WHERE id = ?
    """

  /// - Returns: `nil` when the attempt is not this job's any more.
  func running(_ claim: Claim) throws -> Found? {
    guard let found = try life(claim.id), found.life.state == .running, found.starts == claim.start
    else { return nil }
    return found
  }

  /// - Throws: ``JobQueueError`` `.notRunning` when the attempt is not this job's any more.
  @discardableResult
  func ensureRunning(_ claim: Claim) throws -> Found {
    if let found = try running(claim) { return found }
    throw JobQueueError(
      .notRunning,
      "job \(claim.id) was removed or cancelled, or another attempt has it; end this one")
  }

  /// - Parameter ready: `nil` leaves it, and with it the job's place in the order, as it is; but
  ///   what was ready once is due, and is not to wait because the clock was set back since.
  func store(
    _ life: JobLife, of job: JobID, since: WallTime, ready: WallTime? = nil, reason: String? = nil
  ) throws {
    try connection.run(
      """
      UPDATE \(JobTables.job) SET state = ?, failures = ?, unreached = ?, deaths = ?, since_ms = ?,
        ready_ms = coalesce(?, min(ready_ms, ?)), due = ?, reason = ? WHERE id = ?
      """,
      [
        life.state.rawValue, life.failures, life.unreached, life.deaths, since.milliseconds,
        ready?.milliseconds, since.milliseconds, ready.map { $0 <= since } ?? true,
        reason.map(connection.limits.cut), job.rawValue,
      ])
  }

  /// Of a job that goes on.
  func store(progress life: JobLife, of job: JobID) throws {
    try connection.run(
      "UPDATE \(JobTables.job) SET failures = ?, unreached = ?, deaths = ? WHERE id = ?",
      [life.failures, life.unreached, life.deaths, job.rawValue])
  }

  func report(_ progress: Double?, _ message: String?, of claim: Claim) throws {
    try ensureRunning(claim)
    try connection.run(
      "UPDATE \(JobTables.job) SET progress = ?, message = ? WHERE id = ?",
      [progress, message.map(connection.limits.cut), claim.id.rawValue])
  }

  func remove(_ job: JobID) throws { try connection.run(Self.removal, [job.rawValue]) }

  private static let removal = "DELETE FROM \(JobTables.job) WHERE id = ?"

  func kind(of job: JobID) throws -> String? {
    try connection.row("SELECT kind FROM \(JobTables.job) WHERE id = ?", [job.rawValue])?[0]
  }

  func enqueued(_ job: JobID) throws -> WallTime? {
    try connection.row("SELECT enqueued_ms FROM \(JobTables.job) WHERE id = ?", [job.rawValue])
      .map { WallTime(milliseconds: $0[0]) }
  }

  // MARK: - Claims

  func start(_ job: JobID, _ life: JobLife, start: Int, at now: WallTime) throws {
    try connection.run(
      Self.start,
      [life.state.rawValue, now.milliseconds, now.milliseconds, start, job.rawValue])
  }

  private static let start = """
    UPDATE \(JobTables.job) SET state = ?, since_ms = ?, ready_ms = min(ready_ms, ?), starts = ?,
      reason = NULL
    WHERE id = ?
    """

  // MARK: - Many jobs

  /// The jobs of a kind and key in one of some states, in the order in which they were enqueued.
  /// More than one waits where one was replaced while it ran, and then has to be tried again.
  func underWay(_ kind: String, key: String, in states: [JobState]) throws -> [JobID] {
    let found = try connection.rows(
      """
      SELECT id, state FROM \(JobTables.job) WHERE unique_key = ? AND kind = ?
        AND unique_key IS NOT NULL AND \(JobTables.isUnderWay) ORDER BY id
      """, [key, kind])
    return found.filter { row in states.contains { $0.rawValue == row[1] } }.map {
      JobID(rawValue: $0[0])
    }
  }

  /// Whether a job of the service waits or runs.
  func isAwaited(_ service: String) throws -> Bool {
    // Apart, so that each is found in an index.
    try [JobTables.isDue, JobTables.isLater, JobTables.isRunning].contains {
      try connection.row(
        "SELECT 1 FROM \(JobTables.job) WHERE \($0) AND service = ? LIMIT 1", [service]) != nil
    }
  }

  func ids(_ state: JobState) throws -> [JobID] {
    try connection.rows(
      "SELECT id FROM \(JobTables.job) WHERE state = \(state.rawValue) ORDER BY id"
    ).map { JobID(rawValue: $0[0]) }
  }

  /// Which start of which job runs, as the database has it.
  func starts() throws -> [JobID: Int] {
    let statement = try FastStatement(connection.db, Self.running)
    var found: [JobID: Int] = [:]
    try statement.each { found[JobID(rawValue: statement.int64(0))] = statement.int(1) }
    return found
  }

  private static let running =
    "SELECT id, starts FROM \(JobTables.job) WHERE \(JobTables.isRunning)"

  /// Those of some jobs that wait since an attempt of them failed.
  func failed(_ ids: some Sequence<JobID>) throws -> [JobID] {
    let statement = try FastStatement(connection.db, Self.failed)
    return try ids.filter {
      statement.bindAll($0.rawValue)
      return try statement.first { true } ?? false
    }
  }

  // One that took its place, or its number, has not failed yet.
  private static let failed = """
    SELECT 1 FROM \(JobTables.job)
    WHERE id = ? AND \(JobTables.isWaiting) AND reason IS NOT NULL
    """

  // MARK: - Times

  /// Lets those in whose time has come.
  ///
  /// - Parameter first: when that of the first comes.
  /// - Returns: when that of the next one comes.
  func admit(_ first: WallTime?, at now: WallTime) throws -> WallTime? {
    guard let first, first <= now else { return first }
    try connection.run(
      "UPDATE \(JobTables.job) SET due = 1 WHERE \(JobTables.isLater) AND ready_ms <= ?",
      [now.milliseconds])
    let found = try connection.row(
      "SELECT min(ready_ms) FROM \(JobTables.job) WHERE \(JobTables.isLater)")
    return (found?[0] as Int64?).map(WallTime.init(milliseconds:))
  }

  func mendTimes(at now: WallTime) throws {
    let now = now.milliseconds
    try connection.run(
      """
      UPDATE \(JobTables.job) SET since_ms = ?, ready_ms =
        CASE due WHEN 1 THEN min(ready_ms, ?) ELSE ? + max(ready_ms - since_ms, 0) END
      WHERE \(JobTables.isWaiting) AND since_ms > ?
      """, [now, now, now, now])
  }

  /// Whoever reached nobody may try at once. With a delay those may whose priority is greater than
  /// others', and the rest spread over a while; who waits for less than that, waits on.
  ///
  /// - Parameter delay: draws how long one of the rest waits.
  func wakeUnreached(at now: WallTime, after delay: (() -> Duration)?) throws {
    let waiting = "\(JobTables.isWaiting) AND unreached > 0"
    let waking = "UPDATE \(JobTables.job) SET ready_ms = min(ready_ms, ?), unreached = 0 WHERE"
    guard let delay else { return try connection.run("\(waking) \(waiting)", [now.milliseconds]) }
    for row in try connection.rows(
      "SELECT id, priority FROM \(JobTables.job) WHERE \(waiting) ORDER BY id")
    {
      let (job, priority): (Int64, Int) = (row[0], row[1])
      let ready = priority > 0 ? now : WallTime(notBefore: now.duration + delay())
      try connection.run("\(waking) id = ?", [ready.milliseconds, job])
    }
  }

  func forgetUnreached(_ job: JobID) throws {
    try connection.run("UPDATE \(JobTables.job) SET unreached = 0 WHERE id = ?", [job.rawValue])
  }
}
