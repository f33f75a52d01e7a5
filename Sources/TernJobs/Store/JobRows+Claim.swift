import Foundation
import GRDB
import TernCore

extension JobRows {
  /// Frees what a dead process ran, lets parked jobs whose kind has a handler and those that
  /// reached nobody try again, and mends times that lie in the future because the clock was set
  /// back.
  func recover(kinds: Set<String>, at now: WallTime) throws {
    // Nobody watched the network since the last run.
    try wakeUnreached(at: now)
    for job in try ids(state: .running) where !Planted.isActive(.claimForgotten) {
      guard var life = try life(job)?.life else { continue }
      _ = life.handle(.processDied)
      // Its place in the order stays.
      try store(life, of: job, since: now)
    }
    try db.execute(sql: "UPDATE \(JobTables.gate) SET probe = NULL WHERE probe IS NOT NULL")
    for job in try ids(state: .parked) {
      guard var life = try life(job)?.life,
        let kind = try String.fetchOne(
          db, sql: "SELECT kind FROM \(JobTables.job) WHERE id = ?", arguments: [job.rawValue]),
        kinds.contains(kind)
      else { continue }
      _ = life.handle(.revived)
      try store(life, of: job, since: now, ready: now)
    }
    try mendTimes(at: now)
  }

  private func ids(state: JobState) throws -> [JobID] {
    try Int64.fetchAll(
      db, sql: "SELECT id FROM \(JobTables.job) WHERE state = \(state.rawValue) ORDER BY id"
    ).map(JobID.init)
  }

  /// When the wall clock went back, nobody waits longer than was meant.
  func mendTimes(at now: WallTime) throws {
    let now = now.milliseconds
    try db.execute(
      sql: """
        UPDATE \(JobTables.job) SET ready_ms = ? + max(ready_ms - since_ms, 0), since_ms = ?
        WHERE state = \(JobState.waiting.rawValue) AND since_ms > ?
        """, arguments: [now, now, now])
    try db.execute(
      sql: """
        UPDATE \(JobTables.gate) SET reopens_ms = ? + reopens_ms - since_ms, since_ms = ?
        WHERE since_ms > ?
        """, arguments: [now, now, now])
  }

  /// Another network may be there: whoever reached nobody may try at once.
  func wakeUnreached(at now: WallTime) throws {
    try db.execute(
      sql: """
        UPDATE \(JobTables.job) SET ready_ms = min(ready_ms, ?), unreached = 0
        WHERE state = \(JobState.waiting.rawValue) AND unreached > 0
        """, arguments: [now.milliseconds])
  }

  /// One row for each service that jobs wait for, found by the index alone.
  private func heads() throws -> [ClaimChoice.Head] {
    var heads: [ClaimChoice.Head] = []
    let columns = "SELECT service, ready_ms, id FROM \(JobTables.job)"
    let order = "ORDER BY service, ready_ms, id LIMIT 1"
    let waiting = "state = \(JobState.waiting.rawValue)"
    var row = try Row.fetchOne(db, sql: "\(columns) WHERE \(waiting) \(order)")
    while let found = row {
      let service: String = found["service"]
      heads.append(
        ClaimChoice.Head(
          job: JobID(rawValue: found["id"]), service: service.isEmpty ? nil : service,
          ready: WallTime(milliseconds: found["ready_ms"])))
      row = try Row.fetchOne(
        db, sql: "\(columns) WHERE \(waiting) AND service > ? \(order)", arguments: [service])
    }
    return heads
  }

  /// Claims the next job that can run, parking on the way what can not be read.
  func claim(_ handlers: JobHandlers, at now: WallTime) throws -> Claimed {
    while true {
      let decision = ClaimChoice.decide(try heads(), gates: try gates(), now: now)
      guard case .claim(let job, let probeOf) = decision else {
        guard case .wait(let until) = decision else { preconditionFailure("\(decision)") }
        return .nothing(until: until)
      }
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT kind, payload, starts, enqueued_ms, (SELECT id FROM \(JobTables.queue)) AS queue
          FROM \(JobTables.job) WHERE id = ?
          """, arguments: [job.rawValue])!
      let kind: String = row["kind"]
      var life = try life(job)!.life
      do {
        let (work, retry) = try handlers.prepare(kind, row["payload"])
        _ = life.handle(.claimed)
        try store(life, of: job, since: now)
        let start = row["starts"] + 1
        try db.execute(
          sql: "UPDATE \(JobTables.job) SET starts = ? WHERE id = ?",
          arguments: [start, job.rawValue])
        try tell(probeOf, .claimed(job))
        return .job(
          Claim(
            id: job, start: start, attempt: life.failures + 1,
            key: "\(row["queue"] as String)-\(job)-\(row["enqueued_ms"] as Int64)", work: work,
            retry: retry, files: try files(of: job)))
      } catch let unusable as Unusable {
        _ = life.handle(.unusable)
        try store(life, of: job, since: now, reason: unusable.reason)
      }
    }
  }

  /// When the first job can run that waits for a time or a gate, and not for the network.
  func nextReached(at now: WallTime) throws -> WallTime? {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT min(max(j.ready_ms, coalesce(g.reopens_ms, j.ready_ms)))
        FROM \(JobTables.job) AS j LEFT JOIN \(JobTables.gate) AS g ON g.service = j.service
        WHERE j.state = \(JobState.waiting.rawValue) AND (j.unreached = 0 OR g.reopens_ms > ?)
        """, arguments: [now.milliseconds]
    ).map(WallTime.init)
  }

  private func files(of job: JobID) throws -> [String: String] {
    let rows = try Row.fetchAll(
      db, sql: "SELECT name, path FROM \(JobTables.file) WHERE job = ?", arguments: [job.rawValue])
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
