import TernCore

/// The tokens that are spent: of lanes, and of services' budgets.
struct BucketRows {
  let connection: JobConnection

  /// Writes what it mends: a bucket of another rate would move on with each look, and be empty
  /// until the old rate's time.
  private func bucket(
    _ scope: BucketScope, _ name: String, _ lane: String, _ rate: JobRate, at now: WallTime
  ) throws -> TokenBucket? {
    let found = try connection.row(
      "SELECT full_us FROM \(JobTables.bucket) WHERE scope = ? AND name = ? AND lane = ?",
      [scope.rawValue, name, lane])
    guard let stored = found.map({ TokenBucket(fullAt: $0[0]) }) else { return nil }
    let bucket = stored.mended(rate, at: now)
    if bucket != stored { try store(bucket, scope, name, lane, rate, at: now) }
    return bucket
  }

  private func take(
    _ scope: BucketScope, _ name: String, _ lane: String, _ rate: JobRate, at now: WallTime
  ) throws {
    let bucket = try bucket(scope, name, lane, rate, at: now) ?? TokenBucket(fullAt: .min)
    try store(bucket.taken(rate, at: now), scope, name, lane, rate, at: now)
  }

  private func store(
    _ bucket: TokenBucket, _ scope: BucketScope, _ name: String, _ lane: String,
    _ rate: JobRate, at now: WallTime
  ) throws {
    let isEmpty = bucket.tokens(rate, at: now) < 1
    try connection.run(
      """
      INSERT INTO \(JobTables.bucket) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET since_ms = excluded.since_ms, full_us = excluded.full_us,
        free_ms = excluded.free_ms
      """,
      [
        scope.rawValue, name, lane, now.milliseconds, bucket.fullAt,
        isEmpty ? bucket.time(of: 1, rate, at: now).milliseconds : nil as Int64?,
      ])
  }

  /// A bucket that is full is the same as none.
  func dropFull(at now: WallTime) throws {
    try connection.run("DELETE FROM \(JobTables.bucket) WHERE full_us <= ?", [now.microseconds])
  }

  func mendTimes(at now: WallTime) throws {
    let now = now.milliseconds
    try connection.run(
      """
      UPDATE \(JobTables.bucket) SET full_us = full_us + 1000 * (? - since_ms),
        free_ms = free_ms + ? - since_ms, since_ms = ?
      WHERE since_ms > ?
      """, [now, now, now, now])
  }

  // MARK: - Lanes

  /// What stands in the way of a job that is due: what runs, and tokens that are spent.
  func hold(
    _ head: ClaimChoice.Head, _ kinds: HandledKinds, _ running: JobsRunning,
    _ budget: JobRate?, at now: WallTime
  ) throws -> ClaimChoice.Hold? {
    var holds: [ClaimChoice.Hold] = []
    for (lane, pace) in kinds.paces(head.lane) {
      let isFull = pace.concurrency.map { running.lanes[lane, default: 0] >= $0 } ?? false
      if isFull, !Planted.isActive(.laneOverfilled) { holds.append(.busy) }
      guard let rate = pace.rate,
        let bucket = try bucket(.lane, lane.kind, lane.name, rate, at: now),
        bucket.tokens(rate, at: now) < 1
      else { continue }
      holds.append(.until(bucket.time(of: 1, rate, at: now)))
    }
    if let hold = try hold(head.service, running, budget, at: now) { holds.append(hold) }
    // When several hold it, all have to let it go; who waits for what runs is told of its end.
    let times = holds.compactMap { hold in
      if case .until(let time) = hold { time } else { nil }
    }
    return times.max().map(ClaimChoice.Hold.until) ?? holds.first
  }

  func take(_ lane: JobLane, _ kinds: HandledKinds, at now: WallTime) throws {
    for (lane, pace) in kinds.paces(lane) {
      guard let rate = pace.rate, !Planted.isActive(.tokenUntaken) else { continue }
      try take(.lane, lane.kind, lane.name, rate, at: now)
    }
  }

  // MARK: - Budgets of services

  /// While a service fails, no more of its jobs run than failures are left: each may be another.
  private func hold(
    _ service: String?, _ running: JobsRunning, _ budget: JobRate?, at now: WallTime
  ) throws -> ClaimChoice.Hold? {
    guard let service, let budget, !Planted.isActive(.budgetIgnored),
      let bucket = try bucket(.service, service, "", budget, at: now)
    else { return nil }
    let attempts = running.services[ExactText(service), default: 0]
    if bucket.tokens(budget, at: now) > attempts { return nil }
    // With a whole bucket's worth on their way, one of them has to end first.
    if attempts >= budget.burst { return .busy }
    return .until(bucket.time(of: attempts + 1, budget, at: now))
  }

  /// - Parameter change: a whole attempt of the service that succeeded is worth one failure, so
  ///   that of a service that fails half of the time no more is asked than that.
  func tell(
    _ change: AttemptOutcome.Budget?, of service: String, _ budget: JobRate, at now: WallTime
  ) throws {
    switch change {
    case .spent: try take(.service, service, "", budget, at: now)
    case .returned:
      guard let bucket = try bucket(.service, service, "", budget, at: now) else { return }
      try store(bucket.returned(budget, at: now), .service, service, "", budget, at: now)
    case nil: break
    }
  }

  /// Another network is there, over which the services may be reached: at most once in a while, so
  /// that one that comes and goes does not let an outage cost what a budget is there to save.
  ///
  /// - Returns: when they may be restored, where that is later.
  func restore(at now: WallTime) throws -> WallTime? {
    let spent = "scope = \(BucketScope.service.rawValue)"
    if try connection.row("SELECT 1 FROM \(JobTables.bucket) WHERE \(spent) LIMIT 1") == nil {
      return nil
    }
    let rate = Self.restorations
    let bucket = try bucket(.network, "", "", rate, at: now)
    if let bucket, bucket.tokens(rate, at: now) < 1, !Planted.isActive(.budgetsRestoredOften) {
      return bucket.time(of: 1, rate, at: now)
    }
    try take(.network, "", "", rate, at: now)
    try connection.run("DELETE FROM \(JobTables.bucket) WHERE \(spent)")
    return nil
  }

  private static let restorations = JobRate(1, per: .seconds(60))
}

/// How many attempts of a worker go on, also of jobs that were cancelled meanwhile.
struct JobsRunning: Hashable, Sendable {
  /// By lane, and by kind.
  private(set) var lanes: [JobLane: Int] = [:]
  private(set) var services: [ExactText: Int] = [:]

  mutating func add(_ lane: JobLane, _ service: String?) {
    lanes[lane.ofKind, default: 0] += 1
    if !lane.name.isEmpty { lanes[lane, default: 0] += 1 }
    if let service { services[ExactText(service), default: 0] += 1 }
  }
}
