import TernCore

extension JobTransaction {
  /// Frees what a dead process ran, lets parked jobs whose kind has a handler and those that
  /// reached nobody try again, and mends times that lie in the future because the clock was set
  /// back.
  ///
  /// - Parameter left: starts of jobs that run no more, though their process lives.
  /// - Returns: what says in each further transaction that no other worker has taken over.
  func recover(
    kinds: Set<String>, leftBehind left: [JobID: Int], at now: WallTime
  ) throws -> Int64 {
    try queue.takeOver()
    try buckets.dropFull(at: now)
    // What the last worker did not find may be there.
    try unmet.drop()
    // The app may have other credentials by now.
    try dropUnusedCredentials()
    try credentials.release(of: nil, at: now)
    // Nobody watched the network since the last run.
    try wakeUnreached(at: now)
    for job in try jobs.ids(.running) where !Planted.isActive(.claimForgotten) {
      guard let found = try jobs.life(job) else { continue }
      if left[job] == found.starts {
        try stop(job, found, at: now)
        continue
      }
      var life = found.life
      _ = life.handle(.processDied(limit: limits.deaths))
      let isParked = life.state == .parked
      let reason = "its process died \(life.deaths) times in a row while it ran"
      // Its place in the order stays.
      try jobs.store(life, of: job, since: now, reason: isParked ? reason : nil)
      try observe(
        isParked ? .parked(.deaths, reason: reason, ran: nil) : .died(deaths: life.deaths),
        of: job, found.service, attempt: found.attempt)
      try failures.add("the process died", start: found.starts, of: job, counts: isParked, at: now)
    }
    try gates.forgetProbes()
    for job in try jobs.ids(.parked) {
      guard let found = try jobs.life(job), found.life.deaths < limits.deaths,
        let kind = try jobs.kind(of: job), kinds.contains(kind)
      else { continue }
      var life = found.life
      _ = life.handle(.revived)
      try jobs.store(life, of: job, since: now, ready: now)
      try observe(.retried, of: job, found.service)
    }
    try mendTimes(at: now)
    try dropUnusedGates(at: now)
    return try queue.worker()
  }

  /// A lane that nobody uses any more leaves nothing behind.
  private func dropUnusedCredentials() throws {
    try connection.run(
      """
      DELETE FROM \(JobTables.credential) WHERE NOT EXISTS (
        SELECT 1 FROM \(JobTables.job) AS j
        WHERE j.kind = \(JobTables.credential).kind AND j.lane = \(JobTables.credential).lane)
      """)
  }

  /// A gate that has reopened is kept for the probe of those who wait. Services can be as
  /// many as accounts.
  private func dropUnusedGates(at now: WallTime) throws {
    try connection.run(
      """
      DELETE FROM \(JobTables.gate) WHERE reopens_ms <= ?
        AND NOT EXISTS (SELECT 1 FROM \(JobTables.job) AS j
          WHERE \(JobTables.isDue) AND j.service = \(JobTables.gate).service)
        AND service NOT IN (SELECT service FROM \(JobTables.job) WHERE \(JobTables.isLater))
        AND service NOT IN (SELECT service FROM \(JobTables.job) WHERE \(JobTables.isRunning))
      """, [now.milliseconds])
  }

  /// Lets jobs wait again that a worker began and runs no more, though its process lives.
  ///
  /// - Parameter left: their starts.
  func stop(_ left: [JobID: Int], at now: WallTime) throws {
    for job in try jobs.ids(.running) {
      guard let found = try jobs.life(job), left[job] == found.starts else { continue }
      try stop(job, found, at: now)
    }
  }

  private func stop(_ job: JobID, _ found: JobRows.Found, at now: WallTime) throws {
    var life = found.life
    _ = life.handle(.shutDown)
    try jobs.store(life, of: job, since: now)
    try observe(.stopped(ran: nil), of: job, found.service, attempt: found.attempt)
  }

  /// When the wall clock went back, nobody waits longer than was meant.
  func mendTimes(at now: WallTime) throws {
    try jobs.mendTimes(at: now)
    try gates.mendTimes(at: now)
    try buckets.mendTimes(at: now)
  }

  /// Another network may be there: whoever reached nobody may try again, but for those whose
  /// uploads go on by themselves.
  ///
  /// - Parameter delay: of a network that may be gone again at once: draws how long one of the rest
  ///   waits.
  func wakeUnreached(at now: WallTime, after delay: (() -> Duration)? = nil) throws {
    for job in try transfers.unreachedAwaiting() { try jobs.forgetUnreached(job) }
    try jobs.wakeUnreached(at: now, after: delay)
  }
}
