import GRDB
@_spi(Rehearsal) import TernCore

/// How attempts end: what is stored of it, and what is not.
extension JobWorker {
  nonisolated func attempt(_ attempt: Attempt) async {
    switch await AttemptRun(attempt: attempt, worker: self).run() {
    case .fenced(let end): await heed(end, of: attempt.claim)
    case .ended(let end): if !ends.add(end) { await finish(end) }
    }
  }

  /// What a handler says that was fenced: that its service wants no requests, for example, holds
  /// for the others.
  private func heed(_ end: AttemptEnd, of claim: Claim) async {
    do {
      try await database.write { try $0.heed(end, of: claim, queue.environment) }
      signals.wake()
    } catch {
      // It has no attempt that could fail of it.
      if error is DatabaseError, !Task.isCancelled { signals.fail(error) }
    }
  }

  func store(_ ends: [EndedAttempt], _ rows: JobTransaction) throws {
    if ends.isEmpty { return }
    let environment = queue.environment
    var count = 0
    for end in ends {
      guard let paths = try rows.finish(end.claim, end.end, environment) else { continue }
      count += 1
      queue.folder.unlink(paths, afterCommitOf: rows.db)
    }
    try rows.trimHistory(after: count, at: environment.now)
    try CrashPoint.reach(.jobBeforeFinishCommit)
  }

  /// After they were committed.
  func stored(_ ends: [EndedAttempt]) async throws {
    if ends.isEmpty { return }
    for end in ends {
      _ = forget(end)
      queue.roomless.withLock { $0[end.claim.id] = end.end.full?.count }
    }
    try CrashPoint.reach(.jobAfterFinishCommit)
    do {
      try await tell(of: ends)
    } catch is CancellationError where Task.isCancelled {
      // The next run does as much as it begins. What was claimed with them ends as all that runs.
    }
  }

  private func tell(of ends: [EndedAttempt]) async throws {
    // Who is done may have begun a transfer, in an earlier attempt, and not asked for it again.
    if ends.contains(where: { $0.end.event == .succeeded }) {
      try await transfers?.cancelUnwanted()
    }
    // Who waited to be stored while the network changed was not there to be woken.
    let path = path.path
    let isWoken = ends.contains { end in
      guard case .failed(_, let around) = end.end.event else { return false }
      return path.hasRoute && path.generation != around.pathAfter.generation
    }
    if isWoken { try await networkChanged() }
  }

  private func forget(_ end: EndedAttempt) -> Bool {
    guard ofRun.attempts.end(end.claim) else { return false }
    ofRun.refused[end.claim.id] = nil
    return true
  }

  /// Ends that cannot be stored leave their jobs to the next run.
  func leave(_ ends: [EndedAttempt]) {
    for end in ends where forget(end) {
      queue.leftBehind.withLock { $0[end.claim.id] = end.claim.start }
    }
  }

  /// Says of what is left behind that its process lives, for whoever works next: a database that
  /// has no room for one job's commit may have it for this.
  func storeLeft() {
    for (job, start) in queue.leftBehind.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
      do {
        // One by one: a trigger of the app's may refuse one of them.
        try database.transactionWaiting { try $0.stop([job: start], at: queue.environment.now) }
        queue.leftBehind.withLock { $0[job] = nil }
      } catch {
        // The next run of this process says it.
      }
    }
  }

  /// Stores one end in a transaction of its own, also when the worker was told to end.
  ///
  /// - Parameter refusal: what the app has said to it before.
  func finish(_ end: EndedAttempt, refusal: OfApp? = nil) async {
    do {
      try await stored([try await storePersistently(end, refusal)])
    } catch is CancellationError where Task.isCancelled {
      // This one alone could not be stored before the worker is to have ended.
      leave([end])
    } catch {
      leave([end])
      signals.fail(error)
    }
    signals.wake()
  }

  /// - Returns: what was stored as the attempt's end.
  private func storePersistently(
    _ first: EndedAttempt, _ refusal: OfApp?
  ) async throws -> EndedAttempt {
    let environment = queue.environment
    var backoff = environment.unreached
    var isFirst = refusal == nil
    func refused(_ end: EndedAttempt, _ refusal: OfApp) -> EndedAttempt {
      end.refused(by: refusal, environment, path: path.path)
    }
    var end = refusal.map { refused(first, $0) } ?? first
    while true {
      do {
        try await database.transactionToTheEnd { try store([end], $0) }
        return end
      } catch let refusal as OfApp {
        // Nothing was written; what the app says to the end is the attempt's failure.
        end = refused(end, refusal)
        if !isFirst {
          // It refuses that too. The job keeps its place, and all others go on.
          ofRun.refused[end.claim.id] = refusal.error
          signals.wake()
          try await environment.sleep(for: backoff.next(jitter: environment.jitter()))
        }
        isFirst = false
      }
    }
  }
}
