import Foundation
import GRDB
import TernCore

/// The queue's rows in one transaction: what reads, decides and writes them runs on this.
struct JobRows {
  let db: Database
  let limits: JobLimits

  /// - Throws: ``JobQueueError`` `.notInstalled`.
  init(_ db: Database, limits: JobLimits) throws {
    guard try db.tableExists(JobTables.queue) else {
      throw JobQueueError(
        .notInstalled, "the database has no job queue any more; open the queue again")
    }
    (self.db, self.limits) = (db, limits)
  }

  // MARK: - Jobs

  /// What is new counts against the limit.
  func insert(kind: String, service: String?, payload: Data, at now: WallTime) throws -> JobID {
    try addUnfinished()
    try db.execute(
      sql: """
        INSERT INTO \(JobTables.job) (kind, service, payload, state, since_ms, ready_ms, starts,
          failures, unreached, enqueued_ms) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, ?)
        """,
      arguments: [
        kind, service ?? "", payload, JobState.waiting.rawValue, now.milliseconds,
        now.milliseconds, now.milliseconds,
      ])
    return JobID(rawValue: db.lastInsertedRowID)
  }

  private func addUnfinished() throws {
    try db.execute(
      sql: "UPDATE \(JobTables.queue) SET unfinished = unfinished + 1 WHERE unfinished < ?",
      arguments: [Planted.isActive(.limitIgnored) ? .max : limits.jobs])
    if db.changesCount == 0 {
      throw JobQueueError(
        .tooManyJobs,
        "the queue holds \(limits.jobs) jobs that are not done; let them run or remove some")
    }
  }

  func removeUnfinished() throws {
    try db.execute(sql: "UPDATE \(JobTables.queue) SET unfinished = unfinished - 1")
  }

  typealias Found = (life: JobLife, starts: Int, service: String?)

  func life(_ job: JobID) throws -> Found? {
    guard
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT state, failures, unreached, starts, nullif(service, '') AS service
          FROM \(JobTables.job) WHERE id = ?
          """, arguments: [job.rawValue]),
      let state = JobState(rawValue: row["state"])
    else { return nil }
    let life = JobLife(state: state, failures: row["failures"], unreached: row["unreached"])
    return (life, row["starts"], row["service"])
  }

  /// - Parameter ready: `nil` leaves it, and with it the job's place in the order, as it is; but
  ///   what was ready once is not to wait because the clock was set back since.
  func store(
    _ life: JobLife, of job: JobID, since: WallTime, ready: WallTime? = nil, reason: String? = nil
  ) throws {
    try db.execute(
      sql: """
        UPDATE \(JobTables.job) SET state = ?, failures = ?, unreached = ?, since_ms = ?,
          ready_ms = coalesce(?, min(ready_ms, ?)), reason = ? WHERE id = ?
        """,
      arguments: [
        life.state.rawValue, life.failures, life.unreached, since.milliseconds,
        ready?.milliseconds, since.milliseconds, reason?.cut(to: limits.messageLength),
        job.rawValue,
      ])
  }

  // MARK: - Gates

  func gate(_ service: String) throws -> GateLife? {
    try Row.fetchOne(
      db, sql: "SELECT * FROM \(JobTables.gate) WHERE service = ?", arguments: [service]
    ).map(GateLife.init)
  }

  func gates() throws -> [String: GateLife] {
    let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(JobTables.gate)")
    return Dictionary(uniqueKeysWithValues: rows.map { ($0["service"], GateLife($0)) })
  }

  /// Whether a job of the service waits or runs.
  func isAwaited(_ service: String) throws -> Bool {
    // Apart, so that each is found by its index.
    try [JobState.waiting, .running].contains {
      try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (
            SELECT 1 FROM \(JobTables.job) WHERE state = \($0.rawValue) AND service = ?)
          """, arguments: [service])!
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
      try db.execute(
        sql: "DELETE FROM \(JobTables.gate) WHERE service = ?", arguments: [service])
      return true
    }
    try db.execute(
      sql: """
        INSERT INTO \(JobTables.gate) (service, since_ms, reopens_ms, probe) VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET since_ms = excluded.since_ms, reopens_ms = excluded.reopens_ms,
          probe = excluded.probe
        """,
      arguments: [
        service, gate.since.milliseconds, gate.reopens.milliseconds, gate.probe?.rawValue,
      ])
    return false
  }

  // MARK: - What belongs to a job

  /// - Returns: the paths of files that no job has any more.
  func dropFiles(of job: JobID) throws -> [String] {
    let paths = try String.fetchAll(
      db, sql: "SELECT path FROM \(JobTables.file) WHERE job = ?", arguments: [job.rawValue])
    try db.execute(
      sql: "DELETE FROM \(JobTables.file) WHERE job = ?", arguments: [job.rawValue])
    return paths
  }

  func dropCheckpoints(of job: JobID) throws {
    try db.execute(
      sql: "DELETE FROM \(JobTables.checkpoint) WHERE job = ?", arguments: [job.rawValue])
  }

  func addFile(_ path: String, as name: String, to job: JobID) throws {
    let names = try String.fetchAll(
      db, sql: "SELECT name FROM \(JobTables.file) WHERE job = ?", arguments: [job.rawValue])
    guard !names.contains(name) else {
      throw JobQueueError(.duplicateFile, "job \(job) has a file “\(name)” already")
    }
    guard names.count < limits.filesPerJob else {
      throw JobQueueError(.tooManyFiles, "a job has no more than \(limits.filesPerJob) files")
    }
    try db.execute(
      sql: "INSERT INTO \(JobTables.file) (job, name, path) VALUES (?, ?, ?)",
      arguments: [job.rawValue, name, path])
  }
}

extension GateLife {
  init(_ row: Row) {
    self.init(
      since: WallTime(milliseconds: row["since_ms"]),
      reopens: WallTime(milliseconds: row["reopens_ms"]),
      probe: (row["probe"] as Int64?).map(JobID.init(rawValue:)))
  }
}

extension String {
  func cut(to length: Int) -> String {
    count > length ? prefix(max(length - 1, 0)) + "…" : self
  }
}
