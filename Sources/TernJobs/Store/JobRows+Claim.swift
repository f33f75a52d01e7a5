import Foundation
import GRDB
import TernCore

/// What a worker knows as it looks for jobs, beside the rows.
struct ClaimQuery: Sendable {
  let handlers: JobHandlers
  /// The attempts that go on.
  var running: JobsRunning
  /// How many more may.
  let count: Int
  let budget: JobRate?
  let now: WallTime
}

/// What there is to do now.
struct Claimed: Sendable {
  var claims: [Claim] = []
  /// With fewer claims than were asked for: no more can run before that time, or before something
  /// happens.
  var until: WallTime?
  /// When the first job that only a pace holds back may go.
  var paced: WallTime?
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
  let lane: JobLane
  let service: String?
  let work: JobHandlers.Work
  let retry: RetryPolicy
  /// Paths by name.
  let files: [String: String]
}

extension JobRows {
  /// Claims the next jobs that can run, parking on the way what can not be read.
  func claim(_ query: ClaimQuery) throws -> Claimed {
    var query = query
    let (now, handlers) = (query.now, query.handlers)
    let next = try admit(at: now)
    let pauses = try pauses()
    var gates = try gates()
    var heads = try heads()
    var found = Claimed()
    while found.claims.count < query.count {
      let decision = try ClaimChoice.decide(
        heads, gates: gates, pauses: pauses, next: next, now: now
      ) { try hold($0, handlers, query.running, query.budget, at: now) }
      guard case .claim(let head, let isProbe) = decision else {
        guard case .wait(let until, let paced) = decision else { preconditionFailure() }
        (found.until, found.paced) = (until, paced)
        break
      }
      if let claim = try claim(head, handlers, at: now) {
        if isProbe, let service = head.service {
          try tell(service, .claimed(head.job))
          gates[service] = try gate(service)
        }
        try takeTokens(head.lane, handlers, at: now)
        query.running.add(head.lane, head.service)
        found.claims.append(claim)
      }
      // The next behind it.
      heads.removeAll { $0 == head }
      if let follower = try follower(of: head) { heads.append(follower) }
    }
    return found
  }

  /// - Returns: `nil` for a job that is parked instead.
  private func claim(
    _ head: ClaimChoice.Head, _ handlers: JobHandlers, at now: WallTime
  ) throws -> Claim? {
    let row = try row(
      """
      SELECT payload, version, starts, enqueued_ms, failures, unreached, deaths,
        (SELECT id FROM \(JobTables.queue)) AS queue
      FROM \(JobTables.job) WHERE id = ?
      """, [head.job.rawValue])!
    var life = JobLife(
      state: .waiting, failures: row[4], unreached: row[5], deaths: row[6])
    let starts: Int = row[2]
    do {
      let (work, retry) = try handlers.prepare(head.lane.kind, row[0], version: row[1])
      _ = life.handle(.claimed)
      try run(
        """
        UPDATE \(JobTables.job) SET state = ?, since_ms = ?, ready_ms = min(ready_ms, ?), starts = ?,
          reason = NULL
        WHERE id = ?
        """,
        [
          life.state.rawValue, now.milliseconds, now.milliseconds, starts + 1, head.job.rawValue,
        ])
      return Claim(
        id: head.job, start: starts + 1, attempt: life.failures + 1,
        key: "\(row[7] as String)-\(head.job)-\(row[3] as Int64)", lane: head.lane,
        service: head.service, work: work, retry: retry, files: try files(of: head.job))
    } catch let unusable as Unusable {
      _ = life.handle(.unusable)
      try store(life, of: head.job, since: now, reason: unusable.reason)
      try note(unusable.reason, start: starts, of: head.job, at: now)
      return nil
    }
  }

  private static let columns =
    "SELECT service, kind, lane, priority, ready_ms, id FROM \(JobTables.job)"
  private static let order =
    "ORDER BY service, kind, lane, priority DESC, ready_ms, id LIMIT 1"

  private func head(_ row: Row) -> ClaimChoice.Head {
    let service: String = row[0]
    return ClaimChoice.Head(
      job: JobID(rawValue: row[5]), lane: JobLane(kind: row[1], name: row[2]),
      service: service.isEmpty ? nil : service, priority: row[3],
      ready: WallTime(milliseconds: row[4]))
  }

  /// One for each service, kind and lane that jobs are due of, found by the index alone.
  private func heads() throws -> [ClaimChoice.Head] {
    var heads: [ClaimChoice.Head] = []
    var found = try row("\(Self.columns) WHERE \(JobTables.isDue) \(Self.order)")
    while let row = found {
      heads.append(head(row))
      found = try self.row(
        "\(Self.columns) WHERE \(JobTables.isDue) AND (service, kind, lane) > (?, ?, ?) "
          + Self.order, [row[0] as String, row[1] as String, row[2] as String])
    }
    return heads
  }

  /// The first of the same service, kind and lane.
  private func follower(of head: ClaimChoice.Head) throws -> ClaimChoice.Head? {
    try row(
      "\(Self.columns) WHERE \(JobTables.isDue) AND service = ? AND kind = ? AND lane = ? "
        + "ORDER BY priority DESC, ready_ms, id LIMIT 1",
      [head.service ?? "", head.lane.kind, head.lane.name]
    ).map(self.head)
  }

  private func files(of job: JobID) throws -> [String: String] {
    let rows = try rows(
      "SELECT name, path FROM \(JobTables.file) WHERE job = ?", [job.rawValue])
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
  }
}
