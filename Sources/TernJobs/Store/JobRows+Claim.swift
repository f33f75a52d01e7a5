import Foundation
import GRDB
import TernCore

extension JobRows {
  /// Frees what a dead process ran, lets parked jobs whose kind has a handler and those that
  /// reached nobody try again, and mends times that lie in the future because the clock was set
  /// back.
  ///
  /// - Parameter left: starts of jobs that run no more, though their process lives.
  func recover(kinds: Set<String>, leftBehind left: [JobID: Int], at now: WallTime) throws {
    // Nobody watched the network since the last run.
    try wakeUnreached(at: now)
    for job in try ids(state: .running) where !Planted.isActive(.claimForgotten) {
      guard case (var life, let start, _)? = try life(job) else { continue }
      if left[job] == start {
        _ = life.handle(.shutDown)
        try store(life, of: job, since: now)
        continue
      }
      _ = life.handle(.processDied(limit: limits.deaths))
      let isParked = life.state == .parked
      // Its place in the order stays.
      try store(
        life, of: job, since: now,
        reason: isParked ? "its process died \(life.deaths) times in a row while it ran" : nil)
      try note("the process died", start: start, of: job, at: now)
    }
    try run("UPDATE \(JobTables.gate) SET probe = NULL WHERE probe IS NOT NULL")
    for job in try ids(state: .parked) {
      guard var life = try life(job)?.life,
        let kind: String = try row(
          "SELECT kind FROM \(JobTables.job) WHERE id = ?", [job.rawValue])?[0],
        kinds.contains(kind), life.deaths < limits.deaths
      else { continue }
      _ = life.handle(.revived)
      try store(life, of: job, since: now, ready: now)
    }
    try mendTimes(at: now)
  }

  private func ids(state: JobState) throws -> [JobID] {
    try rows("SELECT id FROM \(JobTables.job) WHERE state = \(state.rawValue) ORDER BY id")
      .map { JobID(rawValue: $0[0]) }
  }

  /// When the wall clock went back, nobody waits longer than was meant.
  func mendTimes(at now: WallTime) throws {
    let now = now.milliseconds
    try run(
      """
      UPDATE \(JobTables.job) SET since_ms = ?, ready_ms =
        CASE due WHEN 1 THEN min(ready_ms, ?) ELSE ? + max(ready_ms - since_ms, 0) END
      WHERE state = \(JobState.waiting.rawValue) AND since_ms > ?
      """, [now, now, now, now])
    try run(
      """
      UPDATE \(JobTables.gate) SET reopens_ms = ? + reopens_ms - since_ms, since_ms = ?
      WHERE since_ms > ?
      """, [now, now, now])
  }

  /// Another network may be there: whoever reached nobody may try at once.
  func wakeUnreached(at now: WallTime) throws {
    try run(
      """
      UPDATE \(JobTables.job) SET ready_ms = min(ready_ms, ?), unreached = 0
      WHERE state = \(JobState.waiting.rawValue) AND unreached > 0
      """, [now.milliseconds])
  }

  /// One row for each service and kind that jobs are due of, found by the index alone.
  private func heads() throws -> [ClaimChoice.Head] {
    var heads: [ClaimChoice.Head] = []
    let columns = "SELECT service, kind, priority, ready_ms, id FROM \(JobTables.job)"
    let order = "ORDER BY service, kind, priority DESC, ready_ms, id LIMIT 1"
    let isDue = JobTables.isDue
    var found = try row("\(columns) WHERE \(isDue) \(order)")
    while let head = found {
      let (service, kind): (String, String) = (head[0], head[1])
      heads.append(
        ClaimChoice.Head(
          job: JobID(rawValue: head[4]), kind: kind, service: service.isEmpty ? nil : service,
          priority: head[2], ready: WallTime(milliseconds: head[3])))
      found = try row(
        "\(columns) WHERE \(isDue) AND (service, kind) > (?, ?) \(order)", [service, kind])
    }
    return heads
  }

  /// Lets those in whose time has come.
  ///
  /// - Returns: when the next one's time comes.
  private func admit(at now: WallTime) throws -> WallTime? {
    func next() throws -> WallTime? {
      let found = try row("SELECT min(ready_ms) FROM \(JobTables.job) WHERE \(JobTables.isLater)")
      return (found?[0] as Int64?).map(WallTime.init(milliseconds:))
    }
    guard let first = try next(), first <= now else { return try next() }
    try run(
      "UPDATE \(JobTables.job) SET due = 1 WHERE \(JobTables.isLater) AND ready_ms <= ?",
      [now.milliseconds])
    return try next()
  }

  /// Claims the next job that can run, parking on the way what can not be read.
  func claim(_ handlers: JobHandlers, at now: WallTime) throws -> Claimed {
    let next = try admit(at: now)
    let pauses = try pauses()
    while true {
      let decision = ClaimChoice.decide(
        try heads(), gates: try gates(), pauses: pauses, next: next, now: now)
      guard case .claim(let job, let probeOf) = decision else {
        guard case .wait(let until) = decision else { preconditionFailure("\(decision)") }
        return .nothing(until: until)
      }
      let row = try row(
        """
        SELECT kind, payload, version, starts, enqueued_ms,
          (SELECT id FROM \(JobTables.queue)) AS queue
        FROM \(JobTables.job) WHERE id = ?
        """, [job.rawValue])!
      let kind: String = row["kind"]
      var life = try life(job)!.life
      do {
        let (work, retry) = try handlers.prepare(kind, row["payload"], version: row["version"])
        _ = life.handle(.claimed)
        try store(life, of: job, since: now)
        let start = row["starts"] + 1
        try run(
          "UPDATE \(JobTables.job) SET starts = ? WHERE id = ?", [start, job.rawValue])
        try tell(probeOf, .claimed(job))
        return .job(
          Claim(
            id: job, start: start, attempt: life.failures + 1,
            key: "\(row["queue"] as String)-\(job)-\(row["enqueued_ms"] as Int64)", work: work,
            retry: retry, files: try files(of: job)))
      } catch let unusable as Unusable {
        _ = life.handle(.unusable)
        try store(life, of: job, since: now, reason: unusable.reason)
        try note(unusable.reason, start: row["starts"], of: job, at: now)
      }
    }
  }

  /// When the first job can run that waits for a time or a gate, and neither for the network nor to
  /// be resumed.
  func nextReached(at now: WallTime) throws -> WallTime? {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT min(max(j.ready_ms, coalesce(g.reopens_ms, j.ready_ms)))
        FROM \(JobTables.job) AS j LEFT JOIN \(JobTables.gate) AS g ON g.service = j.service
        WHERE j.state = \(JobState.waiting.rawValue) AND (j.unreached = 0 OR g.reopens_ms > ?)
          AND NOT EXISTS (SELECT 1 FROM \(JobTables.pause) AS p WHERE p.kind IN ('', j.kind))
        """, arguments: [now.milliseconds]
    ).map(WallTime.init)
  }

  /// Which start of which job runs, as the database has it.
  func running() throws -> [JobID: Int] {
    let found = try rows(
      "SELECT id, starts FROM \(JobTables.job) WHERE state = \(JobState.running.rawValue)")
    return Dictionary(uniqueKeysWithValues: found.map { (JobID(rawValue: $0[0]), $0[1]) })
  }

  private func files(of job: JobID) throws -> [String: String] {
    let rows = try rows(
      "SELECT name, path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"], $0["path"]) })
  }
}

/// What there is to do now.
enum Claimed: Sendable {
  case job(Claim)
  /// Nothing can run before that time, or before something happens.
  case nothing(until: WallTime?)
}

/// A job that a worker has.
struct Claim: Sendable {
  let id: JobID
  /// From 1; tells this run of the job from every other.
  let start: Int
  /// From 1.
  let attempt: Int
  /// No other job has it, in no database: the queue's random id, the job's, and the time at which
  /// it was enqueued, for two databases that were one until a backup was restored.
  let key: String
  let work: JobHandlers.Work
  let retry: RetryPolicy
  /// Paths by name.
  let files: [String: String]
}
