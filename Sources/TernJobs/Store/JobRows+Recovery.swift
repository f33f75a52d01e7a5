import Foundation
import GRDB
import TernCore
import TernDatabase

extension JobRows {
  /// Frees what a dead process ran, lets parked jobs whose kind has a handler and those that
  /// reached nobody try again, and mends times that lie in the future because the clock was set
  /// back.
  ///
  /// - Parameter left: starts of jobs that run no more, though their process lives.
  /// - Returns: what says in each further transaction that no other worker has taken over.
  func recover(
    kinds: Set<String>, leftBehind left: [JobID: Int], at now: WallTime
  ) throws -> Int64 {
    try run("UPDATE \(JobTables.queue) SET worker = worker + 1")
    try dropFullBuckets(at: now)
    // What the last worker did not find may be there.
    try run("DELETE FROM \(JobTables.unmet)")
    // The app may have other credentials by now.
    try dropUnusedCredentials()
    try releaseLanes(of: nil, at: now)
    // Nobody watched the network since the last run.
    try wakeUnreached(at: now)
    for job in try ids(state: .running) where !Planted.isActive(.claimForgotten) {
      guard case (var life, let start, let service)? = try life(job) else { continue }
      let attempt = JobEvent.Attempt(number: life.failures + 1, start: start)
      if left[job] == start {
        try stop(job, life, service, attempt, at: now)
        continue
      }
      _ = life.handle(.processDied(limit: limits.deaths))
      let isParked = life.state == .parked
      let reason = "its process died \(life.deaths) times in a row while it ran"
      // Its place in the order stays.
      try store(life, of: job, since: now, reason: isParked ? reason : nil)
      try observe(
        isParked ? .parked(.deaths, reason: reason, ran: nil) : .died(deaths: life.deaths),
        of: job, service, attempt: attempt)
      try note("the process died", start: start, of: job, counts: isParked, at: now)
    }
    try run("UPDATE \(JobTables.gate) SET probe = NULL WHERE probe IS NOT NULL")
    for job in try ids(state: .parked) {
      guard case (var life, _, let service)? = try life(job),
        let kind: String = try row(
          "SELECT kind FROM \(JobTables.job) WHERE id = ?", [job.rawValue])?[0],
        kinds.contains(kind), life.deaths < limits.deaths
      else { continue }
      _ = life.handle(.revived)
      try store(life, of: job, since: now, ready: now)
      try observe(.retried, of: job, service)
    }
    try mendTimes(at: now)
    try dropUnusedGates(at: now)
    return try worker()
  }

  /// Lets jobs wait again that a worker began and runs no more, though its process lives.
  ///
  /// - Parameter left: their starts.
  func stop(_ left: [JobID: Int], at now: WallTime) throws {
    for job in try ids(state: .running) {
      guard case (let life, let start, let service)? = try life(job), left[job] == start else {
        continue
      }
      let attempt = JobEvent.Attempt(number: life.failures + 1, start: start)
      try stop(job, life, service, attempt, at: now)
    }
  }

  private func stop(
    _ job: JobID, _ life: JobLife, _ service: String?, _ attempt: JobEvent.Attempt,
    at now: WallTime
  ) throws {
    var life = life
    _ = life.handle(.shutDown)
    try store(life, of: job, since: now)
    try observe(.stopped(ran: nil), of: job, service, attempt: attempt)
  }

  /// A gate that has reopened is kept for the probe of those who wait. Services can be as
  /// many as accounts.
  private func dropUnusedGates(at now: WallTime) throws {
    let running = "state = \(JobState.running.rawValue)"
    try run(
      """
      DELETE FROM \(JobTables.gate) WHERE reopens_ms <= ?
        AND NOT EXISTS (SELECT 1 FROM \(JobTables.job) AS j
          WHERE \(JobTables.isDue) AND j.service = \(JobTables.gate).service)
        AND service NOT IN (SELECT service FROM \(JobTables.job) WHERE \(JobTables.isLater))
        AND service NOT IN (SELECT service FROM \(JobTables.job) WHERE \(running))
      """, [now.milliseconds])
  }

  private func worker() throws -> Int64 { try row("SELECT worker FROM \(JobTables.queue)")![0] }

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
  /// - Parameter own: what ``recover(kinds:leftBehind:at:)`` said.
  /// - Throws: ``JobQueueError`` `.workerRunning`.
  func outset(_ own: Int64) throws -> Outset {
    let statement = try FastStatement(db, Self.outset)
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
    try run(
      """
      UPDATE \(JobTables.bucket) SET full_us = full_us + 1000 * (? - since_ms),
        free_ms = free_ms + ? - since_ms, since_ms = ?
      WHERE since_ms > ?
      """, [now, now, now, now])
  }

  /// Another network may be there: whoever reached nobody may try at once, but for those whose
  /// uploads go on by themselves.
  func wakeUnreached(at now: WallTime) throws {
    try forgetUnreached()
    try run(
      """
      UPDATE \(JobTables.job) SET ready_ms = min(ready_ms, ?), unreached = 0
      WHERE state = \(JobState.waiting.rawValue) AND unreached > 0
      """, [now.milliseconds])
  }

  /// The same for a network that may be gone again at once: those whose priority is greater than
  /// others' try at once, and the rest spread over a while. Who waits for less than that, waits on.
  ///
  /// - Parameter delay: draws how long one of the rest waits.
  func wakeUnreached(at now: WallTime, after delay: () -> Duration) throws {
    try forgetUnreached()
    let waiting = "state = \(JobState.waiting.rawValue) AND unreached > 0"
    let found = try rows("SELECT id, priority FROM \(JobTables.job) WHERE \(waiting) ORDER BY id")
    for row in found {
      let (job, priority): (Int64, Int) = (row[0], row[1])
      let ready = priority > 0 ? now : WallTime(notBefore: now.duration + delay())
      try run(
        "UPDATE \(JobTables.job) SET ready_ms = min(ready_ms, ?), unreached = 0 WHERE id = ?",
        [ready.milliseconds, job])
    }
  }

  private func forgetUnreached() throws {
    for job in try unreachedAwaiting() {
      try run("UPDATE \(JobTables.job) SET unreached = 0 WHERE id = ?", [job.rawValue])
    }
  }

  /// Lets those in whose time has come.
  ///
  /// - Parameter first: when that of the first comes.
  /// - Returns: when that of the next one comes.
  func admit(_ first: WallTime?, at now: WallTime) throws -> WallTime? {
    guard let first, first <= now else { return first }
    try run(
      "UPDATE \(JobTables.job) SET due = 1 WHERE \(JobTables.isLater) AND ready_ms <= ?",
      [now.milliseconds])
    let found = try row("SELECT min(ready_ms) FROM \(JobTables.job) WHERE \(JobTables.isLater)")
    return (found?[0] as Int64?).map(WallTime.init(milliseconds:))
  }

  /// When the first job can run that waits for a time or a gate, and neither for the network, nor
  /// for a pace, nor to be resumed.
  ///
  /// - Parameter now: when jobs were looked for; a gate that let its probe pass then holds nobody.
  func nextReached(at now: WallTime, _ isMet: (String) -> Bool) throws -> WallTime? {
    let found = try Row.fetchAll(
      db,
      sql: """
        SELECT j.needs, min(max(j.ready_ms, coalesce(g.reopens_ms, j.ready_ms)))
        FROM \(JobTables.job) AS j LEFT JOIN \(JobTables.gate) AS g ON g.service = j.service
        WHERE j.state = \(JobState.waiting.rawValue) AND (j.unreached = 0 OR g.reopens_ms > ?)
          AND (j.due = 0 OR g.reopens_ms > ?)
          AND NOT EXISTS (SELECT 1 FROM \(JobTables.pause) AS p WHERE p.kind IN ('', j.kind))
        GROUP BY j.needs
        """, arguments: [now.milliseconds, now.milliseconds])
    return found.filter { isMet($0[0]) }.map { WallTime(milliseconds: $0[1]) }.min()
  }

  /// Which start of which job runs, as the database has it.
  func running() throws -> [JobID: Int] {
    let statement = try FastStatement(db, Self.running)
    var found: [JobID: Int] = [:]
    try statement.each { found[JobID(rawValue: statement.int64(0))] = statement.int(1) }
    return found
  }

  private static let running = """
    SELECT id, starts FROM \(JobTables.job) WHERE state = \(JobState.running.rawValue)
    """
}
