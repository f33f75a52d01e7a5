import GRDB
import TernCore
import TernDatabase

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
    try connection.run("DELETE FROM \(JobTables.unmet)")
    // The app may have other credentials by now.
    try credentials.dropUnused()
    try credentials.release(of: nil, at: now)
    // Nobody watched the network since the last run.
    try wakeUnreached(at: now)
    for job in try jobs.ids(.running) where !Planted.isActive(.claimForgotten) {
      guard case (var life, let start, let service)? = try jobs.life(job) else { continue }
      let attempt = JobEvent.Attempt(number: life.failures + 1, start: start)
      if left[job] == start {
        try stop(job, life, service, attempt, at: now)
        continue
      }
      _ = life.handle(.processDied(limit: limits.deaths))
      let isParked = life.state == .parked
      let reason = "its process died \(life.deaths) times in a row while it ran"
      // Its place in the order stays.
      try jobs.store(life, of: job, since: now, reason: isParked ? reason : nil)
      try observe(
        isParked ? .parked(.deaths, reason: reason, ran: nil) : .died(deaths: life.deaths),
        of: job, service, attempt: attempt)
      try failures.add("the process died", start: start, of: job, counts: isParked, at: now)
    }
    try gates.forgetProbes()
    for job in try jobs.ids(.parked) {
      guard case (var life, _, let service)? = try jobs.life(job),
        let kind = try jobs.kind(of: job), kinds.contains(kind), life.deaths < limits.deaths
      else { continue }
      _ = life.handle(.revived)
      try jobs.store(life, of: job, since: now, ready: now)
      try observe(.retried, of: job, service)
    }
    try mendTimes(at: now)
    try gates.dropUnused(at: now)
    return try queue.worker()
  }

  /// Lets jobs wait again that a worker began and runs no more, though its process lives.
  ///
  /// - Parameter left: their starts.
  func stop(_ left: [JobID: Int], at now: WallTime) throws {
    for job in try jobs.ids(.running) {
      guard case (let life, let start, let service)? = try jobs.life(job), left[job] == start else {
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
    try jobs.store(life, of: job, since: now)
    try observe(.stopped(ran: nil), of: job, service, attempt: attempt)
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
    if let delay {
      try jobs.wakeUnreached(at: now, after: delay)
    } else {
      try jobs.wakeUnreached(at: now)
    }
  }
}
