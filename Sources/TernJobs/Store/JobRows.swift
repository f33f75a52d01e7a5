import Foundation
import GRDB
import TernCore
import TernDatabase

/// The queue's rows in one transaction: what reads, decides and writes them runs on this.
struct JobRows {
  let db: Database
  let limits: JobLimits
  /// `nil` where nobody observes, or nothing is changed.
  let events: PendingEvents?

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
    (self.db, self.limits, self.events) = (db, limits, events)
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

  // MARK: - Jobs

  /// What is new counts against the limit.
  func insert(_ job: NewJob, at now: WallTime) throws -> JobID {
    try addUnfinished()
    try run(
      Self.insertion,
      [
        job.kind, job.service ?? "", job.lane, job.payload, job.version, JobState.waiting.rawValue,
        now.milliseconds, job.ready.milliseconds, job.ready <= now, job.priority, job.key,
        now.milliseconds, job.requirement.stored,
      ])
    let id = JobID(rawValue: db.lastInsertedRowID)
    // The app has numbers begin anew (`sqlite_sequence`), and an older job ended under this one.
    _ = try removeEnded(id)
    return id
  }

  // What is run for each job is put together once.
  private static let insertion = """
    INSERT INTO \(JobTables.job) (kind, service, lane, payload, version, state, since_ms, ready_ms,
      due, priority, unique_key, starts, failures, unreached, deaths, enqueued_ms, needs)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?)
    """

  /// Makes a job that waits or is parked another one, with the same id.
  ///
  /// - Returns: the paths of files that no job has any more.
  func replace(_ id: JobID, by job: NewJob, at now: WallTime) throws -> [String] {
    if !Planted.isActive(.replacedInPart) { try dropCheckpoints(of: id) }
    try dropErrors(of: id)
    // Idempotency keys hold the time of enqueueing: others' services must not take it for the old.
    try run(
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
    return try dropFiles(of: id)
  }

  /// The jobs of a kind and key in one of some states, in the order in which they were enqueued.
  /// More than one waits where one was replaced while it ran, and then has to be tried again.
  func underWay(_ kind: String, key: String, in states: [JobState]) throws -> [JobID] {
    let found = try rows(
      """
      SELECT id, state FROM \(JobTables.job) WHERE unique_key = ? AND kind = ?
        AND unique_key IS NOT NULL AND \(JobTables.isUnderWay) ORDER BY id
      """, [key, kind])
    return found.filter { row in states.contains { $0.rawValue == row[1] } }.map {
      JobID(rawValue: $0[0])
    }
  }

  private func addUnfinished() throws {
    let isFollowUp = AttemptCommit.database == ObjectIdentifier(db)
    let limit = isFollowUp ? limits.jobsAndFollowUps : limits.jobs
    let statement = try FastStatement(db, Self.addition)
    statement.bindAll(Planted.isActive(.limitIgnored) ? Int.max : limit)
    if try !statement.runCounting() {
      var error = JobQueueError(
        .tooManyJobs,
        "the queue holds \(limit) jobs that have not ended; let them run or remove some")
      if let queue = try row("SELECT id FROM \(JobTables.queue)") {
        error.full = .init(queue: queue[0], count: try unfinished())
      }
      throw error
    }
  }

  private static let addition =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished + 1 WHERE unfinished < ?"

  func recountUnfinished() throws {
    try run(
      "UPDATE \(JobTables.queue) SET unfinished = (SELECT count(*) FROM \(JobTables.job))")
  }

  func removeUnfinished() throws {
    try run("UPDATE \(JobTables.queue) SET unfinished = unfinished - 1")
  }

  typealias Found = (life: JobLife, starts: Int, service: String?)

  func life(_ job: JobID) throws -> Found? {
    let statement = try FastStatement(db, Self.reading)
    statement.bindAll(job.rawValue)
    return try statement.first {
      guard let state = JobState(rawValue: statement.int(0)) else { return nil }
      let life = JobLife(
        state: state, failures: statement.int(1), unreached: statement.int(2),
        deaths: statement.int(3))
      let service = statement.text(5)
      return (life, statement.int(4), service.isEmpty ? nil : service)
    } ?? nil
  }

  private static let reading = """
    SELECT state, failures, unreached, deaths, starts, service FROM \(JobTables.job) WHERE id = ?
    """

  /// - Parameter ready: `nil` leaves it, and with it the job's place in the order, as it is; but
  ///   what was ready once is due, and is not to wait because the clock was set back since.
  func store(
    _ life: JobLife, of job: JobID, since: WallTime, ready: WallTime? = nil, reason: String? = nil
  ) throws {
    try run(
      """
      UPDATE \(JobTables.job) SET state = ?, failures = ?, unreached = ?, deaths = ?, since_ms = ?,
        ready_ms = coalesce(?, min(ready_ms, ?)), due = ?, reason = ? WHERE id = ?
      """,
      [
        life.state.rawValue, life.failures, life.unreached, life.deaths, since.milliseconds,
        ready?.milliseconds, since.milliseconds, ready.map { $0 <= since } ?? true,
        reason.map(limits.cut), job.rawValue,
      ])
  }

  // MARK: - Statements

  /// A statement that SQLite reads once.
  func run(_ sql: String, _ values: [any BindableValue] = []) throws {
    try db.runBound(sql, values)
  }

  func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
    try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
  }

  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
  }

  // MARK: - Gates

  func gate(_ service: String) throws -> GateLife? {
    try row("SELECT * FROM \(JobTables.gate) WHERE service = ?", [service]).map(GateLife.init)
  }

  func gates() throws -> [ExactText: GateLife] {
    let rows = try rows("SELECT * FROM \(JobTables.gate)")
    return Dictionary(uniqueKeysWithValues: rows.map { (ExactText($0["service"]), GateLife($0)) })
  }

  /// Whether a job of the service waits or runs.
  func isAwaited(_ service: String) throws -> Bool {
    // Apart, so that each is found in an index.
    let running = "state = \(JobState.running.rawValue)"
    return try [JobTables.isDue, JobTables.isLater, running].contains {
      try row("SELECT 1 FROM \(JobTables.job) WHERE \($0) AND service = ? LIMIT 1", [service])
        != nil
    }
  }

  /// - Returns: whether the gate is open now and was not.
  @discardableResult
  func tell(_ service: String?, _ event: GateLife.Event) throws -> Bool {
    guard let service else { return false }
    let before = try gate(service)
    let gate = GateLife.after(event, before)
    if gate == before { return false }
    guard let gate else {
      try run("DELETE FROM \(JobTables.gate) WHERE service = ?", [service])
      return true
    }
    try run(
      """
      INSERT INTO \(JobTables.gate) (service, since_ms, reopens_ms, probe) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET since_ms = excluded.since_ms, reopens_ms = excluded.reopens_ms,
        probe = excluded.probe
      """, [service, gate.since.milliseconds, gate.reopens.milliseconds, gate.probe?.rawValue])
    return false
  }

  // MARK: - Pauses

  func pauses() throws -> JobPauses {
    let kinds = try rows("SELECT kind FROM \(JobTables.pause)").map { $0[0] as String }
    return JobPauses(all: kinds.contains(""), kinds: Set(kinds.filter { !$0.isEmpty }))
  }

  func pause(_ kind: String, at now: WallTime) throws {
    try run(
      "INSERT INTO \(JobTables.pause) VALUES (?, ?) ON CONFLICT DO NOTHING",
      [kind, now.milliseconds])
  }

  func resume(_ kind: String) throws {
    try run("DELETE FROM \(JobTables.pause) WHERE kind = ?", [kind])
  }

  // MARK: - What belongs to a job

  /// Keeps the newest of a job's failures, and before those that cost nothing the ones that
  /// counted: an hour without a network has more of the others than there is room for.
  ///
  /// - Parameter counts: whether it was one attempt less for the job, or the last.
  func note(
    _ reason: String, start: Int, of job: JobID, counts: Bool, at now: WallTime
  ) throws {
    try run(
      "INSERT INTO \(JobTables.error) (job, start, at_ms, reason, counts) VALUES (?, ?, ?, ?, ?)",
      [job.rawValue, start, now.milliseconds, limits.cut(reason), counts])
    try run(
      """
      DELETE FROM \(JobTables.error) WHERE id IN (
        SELECT id FROM \(JobTables.error) WHERE job = ?
        ORDER BY counts DESC, id DESC LIMIT -1 OFFSET ?)
      """, [job.rawValue, limits.failedAttemptsPerJob])
  }

  func failedAttempts(of job: JobID) throws -> [FailedAttempt] {
    try rows(
      "SELECT start, at_ms, reason FROM \(JobTables.error) WHERE job = ? ORDER BY id",
      [job.rawValue]
    ).map { FailedAttempt(start: $0[0], at: WallTime(milliseconds: $0[1]).date, reason: $0[2]) }
  }

  func dropErrors(of job: JobID) throws {
    try run("DELETE FROM \(JobTables.error) WHERE job = ?", [job.rawValue])
  }

  /// - Returns: the paths of files that no job has any more.
  func dropFiles(of job: JobID) throws -> [String] {
    let paths = try rows("SELECT path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    if !paths.isEmpty { try run("DELETE FROM \(JobTables.file) WHERE job = ?", [job.rawValue]) }
    return paths.map { $0[0] }
  }

  func dropCheckpoints(of job: JobID) throws {
    try run("DELETE FROM \(JobTables.checkpoint) WHERE job = ?", [job.rawValue])
  }

  func addFile(_ path: String, as name: String, to job: JobID) throws {
    try JobQueueError.refuseNull(in: name, "the name of a file of job \(job)")
    let names = try rows("SELECT name FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
      .map { $0[0] as String }
    guard !names.contains(name) else {
      throw JobQueueError(.duplicateFile, "job \(job) has a file “\(name)” already")
    }
    guard names.count < limits.filesPerJob else {
      throw JobQueueError(.tooManyFiles, "a job has no more than \(limits.filesPerJob) files")
    }
    try run(
      "INSERT INTO \(JobTables.file) (job, name, path) VALUES (?, ?, ?)",
      [job.rawValue, name, path])
  }
}

/// Whose commit the app's own code is called in.
enum AttemptCommit {
  /// The connection on which a running job stores a checkpoint. What it enqueues there takes,
  /// sooner or later, its own place.
  @TaskLocal static var database: ObjectIdentifier?
}

/// What a job's row is made of.
struct NewJob {
  let kind: String
  let service: String?
  /// Empty for none.
  let lane: String
  let requirement: JobRequirement
  let payload: Data
  let version: Int
  let priority: Int
  let key: String?
  let ready: WallTime
}

extension GateLife {
  init(_ row: Row) {
    self.init(
      since: WallTime(milliseconds: row["since_ms"]),
      reopens: WallTime(milliseconds: row["reopens_ms"]),
      probe: (row["probe"] as Int64?).map(JobID.init(rawValue:)))
  }
}
