/// All jobs, in memory: when the service ends they are gone.
actor ScanBoard {
  nonisolated let limits: ScanLimits
  private let clock: ScanClock
  private let randomText: @Sendable () -> String
  private var jobs: [String: ScanJob] = [:]
  private var day: Int64 = 0
  private var jobsToday: [String: Int] = [:]
  private var bytesHeld = 0
  private var counts = CountsDocument()

  private static let dayMilliseconds: Int64 = 86_400_000

  init(limits: ScanLimits, clock: ScanClock, randomText: @escaping @Sendable () -> String) {
    (self.limits, self.clock, self.randomText) = (limits, clock, randomText)
  }

  /// - Throws: ``Problem`` when the day's jobs are used up, or the service is full.
  func create(
    device: String, photoHashes: [String], bytes: Int, tokenIsExpired: Bool
  ) throws(Problem) -> (job: ScanJob, quota: Quota) {
    let now = clock.nowMilliseconds
    forgetOld(now)
    guard jobs.count < limits.jobs, bytes <= limits.photoBytesHeld - bytesHeld else {
      throw .busy("the service holds as many jobs as it can")
    }
    let used = quota(of: device)
    guard used.remaining > 0 else { throw Self.quotaExceeded(used, now) }
    guard jobsToday.count < limits.devices || jobsToday[device] != nil else {
      throw .busy("the service knows as many devices as it can for today")
    }
    jobsToday[device, default: 0] += 1
    let job = ScanJob(
      id: randomText(), token: randomText(), device: device, photoCount: photoHashes.count,
      created: now, tokenExpires: tokenIsExpired ? now - 1 : now + limits.tokenMilliseconds,
      limits: limits)
    jobs[job.id] = job
    bytesHeld += bytes
    counts.jobsCreated += 1
    counts.jobsByDevice[device, default: 0] += 1
    for hash in photoHashes { counts.jobsByPhoto[hash, default: 0] += 1 }
    return (job, quota(of: device))
  }

  func release(bytes: Int) { bytesHeld -= bytes }

  /// - Throws: ``Problem``: not found, another device's, or a token that is wrong or too old.
  func job(_ id: Substring, device: String, token: String?) throws(Problem) -> ScanJob {
    let job = try self.job(id)
    guard job.device == device else {
      throw Problem(403, "DEVICE_MISMATCH", "the job was made by another device")
    }
    guard token == job.token else {
      throw Problem(401, "INVALID_TOKEN", "send the job's authToken as a bearer token")
    }
    guard clock.nowMilliseconds < job.tokenExpires else {
      throw Problem(401, "TOKEN_EXPIRED", "the job's authToken is too old; make a new job")
    }
    return job
  }

  func job(_ id: Substring) throws(Problem) -> ScanJob {
    forgetOld(clock.nowMilliseconds)
    guard let job = jobs[String(id)] else { throw .jobGone }
    return job
  }

  func clean(_ job: ScanJob) {
    guard jobs.removeValue(forKey: job.id) != nil else { return }
    counts.jobsCleaned += 1
    job.close()
  }

  func closeAll() { for job in jobs.values { job.close() } }

  func quota(of device: String) -> Quota {
    let today = clock.nowMilliseconds / Self.dayMilliseconds
    if today != day {
      day = today
      jobsToday = [:]
    }
    return Quota(
      limit: limits.jobsPerDay,
      remaining: max(0, limits.jobsPerDay - jobsToday[device, default: 0]),
      resets: (today + 1) * Self.dayMilliseconds)
  }

  static func quotaExceeded(_ quota: Quota, _ now: Int64) -> Problem {
    var problem = Problem(
      429, "DAILY_QUOTA_EXCEEDED", "this device's \(quota.limit) scans of today are used up")
    problem.isRetryable = true
    problem.retryAfterMilliseconds = quota.resets - now
    problem.quota = Quota(limit: quota.limit, remaining: 0, resets: quota.resets)
    return problem
  }

  func streamOpened() {
    counts.streamsOpened += 1
    counts.streamsOpen += 1
  }

  func streamClosed() { counts.streamsOpen -= 1 }

  func refused(_ problem: Problem) { counts.refusals[problem.code, default: 0] += 1 }

  /// What was counted since the service began.
  var currentCounts: CountsDocument {
    var counts = counts
    counts.jobsAlive = jobs.count
    return counts
  }

  private func forgetOld(_ now: Int64) {
    // A job with an expired token is kept as long as any other, to say so.
    for job in jobs.values where now - job.created >= limits.tokenMilliseconds * 2 {
      jobs.removeValue(forKey: job.id)
      job.close()
    }
  }
}
