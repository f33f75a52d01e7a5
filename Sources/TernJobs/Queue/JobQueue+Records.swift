import Foundation
import GRDB
import TernCore

extension JobQueue {
  /// Every job that the database holds, in the order of enqueueing.
  ///
  /// - Throws: ``JobQueueError`` `.notInstalled`, `DatabaseError`.
  public func records(in db: Database) throws -> [JobRecord] {
    try JobTransaction(db, limits: limits).records()
  }

  /// - Returns: `nil` for a job that was removed, or that ended and is kept no longer: see
  ///   ``JobLimits/keptDone`` and ``JobLimits/keptFor``.
  /// - Throws: as ``records(in:)``.
  public func record(_ id: JobID, in db: Database) throws -> JobRecord? {
    _ = try JobTransaction(db, limits: limits)
    return try Row.fetchOne(
      db, sql: Self.selection("WHERE id = :id"), arguments: ["id": id.rawValue]
    ).map(JobRecord.init)
  }

  /// The job on account of which
  /// ``enqueue(_:priority:after:unique:lane:service:requires:files:in:)`` skips another of its kind
  /// and key: it waits, runs or is parked. Asked in the same transaction before that, it tells
  /// whether a job is added, and its files taken.
  ///
  /// - Throws: as ``records(in:)``.
  public func unfinished<J: Job>(_ type: J.Type, uniqueBy key: String, in db: Database) throws
    -> JobID?
  {
    try JobTransaction(db, limits: limits)
      .jobs.underWay(J.kind, key: key, in: [.waiting, .running, .parked]).first
  }

  /// How a job's attempts failed, the oldest first, at most ``JobLimits/failedAttemptsPerJob``.
  /// Those of one that is done or cancelled are gone.
  ///
  /// - Throws: as ``records(in:)``.
  public func failedAttempts(of id: JobID, in db: Database) throws -> [FailedAttempt] {
    try JobTransaction(db, limits: limits).failures.all(of: id)
  }

  /// Where a file of a job is, for whoever shows it: the photo of an upload that waits, say. The
  /// job goes on meanwhile, and a file that it releases is removed, so that opening it can fail.
  ///
  /// - Returns: `nil` where there is no such job, or it has no such file any more.
  /// - Throws: as ``records(in:)``.
  public func file(_ name: String, of id: JobID, in db: Database) throws -> URL? {
    let path = try JobTransaction(db, limits: limits).files.all(of: id)[name]
    return path.map { URL(filePath: folder.absolute($0)) }
  }

  /// The jobs that wait for the end of what they handed over.
  package func handedOver(in db: Database) throws -> Set<JobID> {
    let wanted = try JobTransaction(db, limits: limits).transfers.wanted()
    return Set(wanted.filter(\.isAwaited).map(\.job))
  }

  /// What ``pause(_:in:)`` holds.
  ///
  /// - Throws: as ``records(in:)``.
  public func pauses(in db: Database) throws -> JobPauses {
    try JobTransaction(db, limits: limits).pauses.all()
  }

  /// The services that asked for a pause and that jobs wait for, by name.
  ///
  /// - Throws: as ``records(in:)``.
  public func gates(in db: Database) throws -> [JobGate] {
    try JobTransaction(db, limits: limits).awaitedGates()
  }

  /// All jobs and the gates that they wait for, now and after every change that is committed; who
  /// reads slowly gets the newest only. What other processes commit is seen while a worker of this
  /// process runs.
  ///
  /// Each element reads all jobs: for a long queue, observe the view `grdb_tern_jobs` instead.
  public var updates: some AsyncSequence<JobOverview, any Error> & Sendable {
    ValueObservation.tracking { db in
      JobOverview(records: try self.records(in: db), gates: try self.gates(in: db))
    }.values(in: database, bufferingPolicy: .bufferingNewest(1))
  }

  /// Lets a job that failed or is parked begin again, with all its attempts; what its steps
  /// stored stays. The caller's transaction decides.
  ///
  /// - Returns: whether there was such a job.
  /// - Throws: as ``records(in:)``.
  @discardableResult
  public func retry(_ id: JobID, in db: Database) throws -> Bool {
    try changing(id, in: db) { rows, found in
      guard try rows.revive(id, found, at: environment.now) else { return false }
      try rows.observe(.retried, of: id, found.service, if: .freed)
      return true
    }
  }

  /// ``retry(_:in:)`` for every job that failed or is parked.
  ///
  /// - Returns: how many these are.
  /// - Throws: as ``records(in:)``, with none of them changed.
  @discardableResult
  public func retryAll(in db: Database) throws -> Int {
    var count = 0
    try db.inSavepoint {
      for record in try records(in: db) where record.state.isStuck {
        try retry(record.id, in: db)
        count += 1
      }
      return .commit
    }
    return count
  }

  /// Ends a job that has not ended, waiting or running; it stays as `.cancelled`, without its
  /// payload and files. The caller's transaction decides. A handler that runs is cancelled once the
  /// worker sees it, and nothing that it stores from the commit on is taken: its checkpoints throw
  /// ``JobQueueError`` `.notRunning`. In a step's own `commit` it ends that job with the step,
  /// whose rows are written and whose files are not.
  ///
  /// - Returns: whether there was such a job.
  /// - Throws: as ``records(in:)``.
  @discardableResult
  public func cancel(_ id: JobID, in db: Database) throws -> Bool {
    try changing(id, in: db) { rows, found in
      try rows.observe(.cancelled, of: id, found.service, if: .ended)
      folder.unlink(try rows.cancel(id, found, at: environment.now), afterCommitOf: db)
      return true
    }
  }

  /// Starts no job, or none of a kind, until it is resumed, in any process. Those that run are not
  /// disturbed. The caller's transaction decides.
  ///
  /// - Parameter kind: ``Job/kind``, `nil` for all.
  /// - Throws: as ``records(in:)``.
  public func pause(_ kind: String? = nil, in db: Database) throws {
    let now = environment.now
    try holding(kind, in: db) { try $0.pauses.pause($1, at: now) }
  }

  /// Takes back the ``pause(_:in:)`` of the same kind, or of all.
  ///
  /// - Throws: as ``records(in:)``.
  public func resume(_ kind: String? = nil, in db: Database) throws {
    try holding(kind, in: db) { try $0.pauses.resume($1) }
  }

  /// Says that the app has another credential: somebody signed in again, say. Lanes that wait for
  /// one go on; one that finds the refused one again waits on, without a request. The caller's
  /// transaction decides.
  ///
  /// - Parameter kind: ``Job/kind``, `nil` for all.
  /// - Throws: as ``records(in:)``.
  public func credentialChanged(of kind: String? = nil, in db: Database) throws {
    let now = environment.now
    try holding(kind, in: db) { rows, kind in
      try rows.credentials.release(of: kind.isEmpty ? nil : kind, at: now)
    }
  }

  private func holding(
    _ kind: String?, in db: Database, _ body: (JobTransaction, String) throws -> Void
  ) throws {
    try JobQueueError.refuseNull(in: kind ?? "", "the kind of a job")
    precondition(kind != "", "a kind has a name; without one the whole queue is meant")
    // Outside of a transaction the commit is that of the savepoint, and tells of the change.
    try db.inSavepoint {
      try body(JobTransaction(db, limits: limits), kind ?? "")
      try db.notifyChanges(in: Table(JobTables.job))
      return .commit
    }
  }

  /// Removes a job, whatever its state, with its files. The caller's transaction decides. A handler
  /// that runs is cancelled, as by ``cancel(_:in:)``.
  ///
  /// - Returns: whether there was such a job.
  /// - Throws: as ``records(in:)``.
  @discardableResult
  public func remove(_ id: JobID, in db: Database) throws -> Bool {
    if try removeEnded(id, in: db) { return true }
    return try changing(id, in: db) { rows, found in
      try rows.observe(.removed, of: id, found.service, if: .removed)
      folder.unlink(try rows.remove(id, found), afterCommitOf: db)
      return true
    }
  }

  private func removeEnded(_ id: JobID, in db: Database) throws -> Bool {
    var isRemoved = false
    try db.inSavepoint {
      isRemoved = try JobTransaction(db, limits: limits).removeEnded(id)
      return .commit
    }
    return isRemoved
  }

  /// Whole or not at all, also outside of a transaction; wakes this process's worker when it is
  /// committed, whichever queue of the database that one has.
  private func changing(
    _ id: JobID, in db: Database, _ body: (JobTransaction, JobRows.Found) throws -> Bool
  ) throws -> Bool {
    var isChanged = false
    try db.inSavepoint {
      let rows = try JobTransaction(db, limits: limits, events: events)
      guard let found = try rows.jobs.life(id), try body(rows, found) else { return .commit }
      try db.notifyChanges(in: Table(JobTables.job))
      isChanged = true
      return .commit
    }
    return isChanged
  }

  fileprivate static func selection(_ condition: String = "") -> String {
    let columns = """
      id, kind, nullif(service, '') AS service, nullif(lane, '') AS lane, state, since_ms, ready_ms,
      starts, failures, progress, message, reason, priority, unique_key, enqueued_ms
      """
    let isMet = "NOT EXISTS (SELECT 1 FROM \(JobTables.unmet) AS u WHERE u.needs = j.needs)"
    let isRefused = """
      EXISTS (SELECT 1 FROM \(JobTables.credential) AS c
        WHERE c.kind = j.kind AND c.lane = j.lane AND c.is_held = 1)
      """
    let isPaused = "EXISTS (SELECT 1 FROM \(JobTables.pause) AS p WHERE p.kind IN ('', j.kind))"
    // What has ended waits for no network.
    return [
      (
        "\(JobTables.job) AS j",
        """
        unreached, needs, \(isMet) AS is_met, \(isPaused) AS is_paused, \(isRefused) AS is_refused
        """
      ),
      (
        JobTables.history,
        "0 AS unreached, '' AS needs, 1 AS is_met, 0 AS is_paused, 0 AS is_refused"
      ),
    ].map {
      "SELECT \(columns), \($1) FROM \($0) \(condition)"
    }.joined(separator: " UNION ALL ")
  }
}

extension JobTransaction {
  func records() throws -> [JobRecord] {
    try Row.fetchAll(db, sql: "\(JobQueue.selection()) ORDER BY id").map(JobRecord.init)
  }

  /// Those that jobs wait for, by name.
  func awaitedGates() throws -> [JobGate] {
    let gates = try gates.all().map { (service: $0.key.text, gate: $0.value) }
    return try gates.filter { try jobs.isAwaited($0.service) }
      .sorted { $0.service.utf8.lexicographicallyPrecedes($1.service.utf8) }
      .map { JobGate(service: $0, reopensAt: $1.reopens.date, probe: $1.probe) }
  }
}

extension JobRecord {
  init(_ row: Row) {
    func date(_ column: String) -> Date { WallTime(milliseconds: row[column]).date }
    self.init(
      id: JobID(rawValue: row["id"]), kind: row["kind"], service: row["service"], lane: row["lane"],
      // A newer Tern's states are refused with its format.
      state: JobState(rawValue: row["state"]) ?? .parked, since: date("since_ms"),
      readyAt: date("ready_ms"), starts: row["starts"], failures: row["failures"],
      unreached: row["unreached"], progress: row["progress"], message: row["message"],
      reason: row["reason"], priority: row["priority"],
      requirement: JobRequirement(stored: row["needs"]), isRequirementMet: row["is_met"],
      isPaused: row["is_paused"], isCredentialRefused: row["is_refused"],
      uniqueKey: row["unique_key"],
      enqueuedAt: date("enqueued_ms"))
  }
}
