import GRDB
@_spi(Rehearsal) import TernCore

/// An attempt that goes on.
struct Attempt: Sendable {
  let claim: Claim
  /// To tell it to end.
  let task: AttemptTask
  /// How long it runs, for observers alone.
  let ran: (@Sendable () -> Duration)?
  /// What is left until it is told to end, or, once it was, until it is fenced. `nil` where neither
  /// will be.
  var left: (@Sendable () -> Duration)?
  /// It was told to end, and is fenced next.
  var isEnding = false

  init(_ claim: Claim, _ environment: JobEnvironment, isObserved: Bool) {
    (self.claim, task) = (claim, AttemptTask())
    ran = isObserved ? environment.stopwatch() : nil
    left = claim.limit.map(environment.countdown)
  }
}

/// An attempt whose handler has returned, and whose end is to be stored.
struct EndedAttempt: Sendable {
  let claim: Claim
  var end: AttemptEnd
  let pathBefore: NetworkPath
  /// How an attempt ended that was cancelled, if nobody but its handler did that.
  var own: AttemptEnd?

  /// As it counts while the worker goes on: a job that is no longer the attempt's has no
  /// end to store.
  var unstopped: EndedAttempt {
    EndedAttempt(claim: claim, end: own ?? end, pathBefore: pathBefore)
  }
}

extension JobWorker {
  /// Off the actor, so that a handler blocks nobody.
  nonisolated func attempt(_ attempt: Attempt) async {
    let (claim, task) = (attempt.claim, attempt.task)
    let before = path.path
    let context = JobContext(claim: claim, worker: self)
    // What a handler says that is told to end, that its service wants no requests for example, is
    // heard.
    var end: AttemptEnd
    var hasFailed = false
    do {
      try await task.run {
        try await surround(context, surrounding[...], handlers.work(of: claim))
      }
      end = AttemptEnd(event: .succeeded, reason: nil)
      end.credential = context.attempted.credential.map(CredentialLife.Event.accepted)
    } catch {
      end = self.end(
        of: claim, error,
        pathBefore: context.attempted.transferred.isUnsteady ? .unseen(as: path.path) : before,
        isOfService: !context.attempted.isRefusal(error))
      end.credential = Self.credential(in: error, context.attempted.credential)
      hasFailed = !(error is CancellationError)
    }
    let transferred = context.attempted.transferred
    // Also where the handler took no notice of it.
    if !transferred.entrusted.isEmpty, !hasFailed {
      end = AttemptEnd(
        event: .entrusted(for: .zero), reason: nil, entrusted: transferred.entrusted)
    }
    end.spent = transferred.spent
    end.ran = attempt.ran?()
    let (cause, isOwn) = task.returned()
    guard isOwn else { return await heed(end, of: claim) }
    if end.isOfStop { end = self.end(end, of: claim, causedBy: cause, pathBefore: before) }
    var ended = EndedAttempt(claim: claim, end: end, pathBefore: before)
    if Task.isCancelled, end.isOfStop { (ended.end, ended.own) = (end.stopped, end) }
    if !ends.add(ended) { await finish(ended) }
  }

  /// What its end is worth of a handler that was told to end, whatever it says.
  private nonisolated func end(
    _ end: AttemptEnd, of claim: Claim, causedBy cause: CancellationCause?,
    pathBefore: NetworkPath
  ) -> AttemptEnd {
    switch cause {
    case .recalled, nil: return end
    case .unmet: return end.stopped
    case .overran:
      var overrun = self.end(
        of: claim, JobFailure(.interrupted(isLocal: false), claim.overrun), pathBefore: pathBefore)
      (overrun.spent, overrun.ran) = (end.spent, end.ran)
      return overrun
    }
  }

  private nonisolated func surround(
    _ context: JobContext, _ rest: ArraySlice<any JobSurrounding>, _ work: JobHandlers.Work
  ) async throws {
    guard let first = rest.first else { return try await work(context) }
    try await first.surround(context) { try await surround(context, rest.dropFirst(), work) }
  }

  nonisolated func end(
    of claim: Claim, _ error: any Error, pathBefore: NetworkPath, isOfService: Bool = true
  ) -> AttemptEnd {
    if let error = error as? JobQueueError, error.code == .unreadable {
      return AttemptEnd(event: .unusable, reason: error.message)
    }
    if let unusable = error as? Unusable {
      return AttemptEnd(event: .unusable, reason: unusable.reason)
    }
    // Of the database that the handler uses: the app suspended it, say, which is nobody's failure.
    let isInterrupted = (error as? DatabaseError)?.isInterruptionError ?? false
    let advice = (error as? any AdvisingError)?.advice ?? (isInterrupted ? .unreachable : .failed)
    let environment = queue.environment
    let around = JobLife.Circumstances(
      pathBefore: pathBefore, pathAfter: path.path, retry: claim.retry,
      backoff: environment.unreached, jitter: environment.jitter(),
      gateDelay: environment.gateDelay, longestGate: environment.longestGate)
    var end = AttemptEnd(
      event: .failed(advice, around), reason: FailureText.of(error),
      isOfService: isOfService && !(error is DatabaseError || error is JobQueueError),
      error: queue.events == nil ? nil : FailureText.name(of: error))
    // Another queue's room is no matter of this one's.
    if let full = (error as? JobQueueError)?.full, full.queue == claim.queue { end.full = full }
    return end
  }

  // MARK: - Storing ends

  func store(_ ends: [EndedAttempt], _ rows: JobRows) throws {
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
      forget(end)
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
    if ends.contains(where: { $0.end.event == .succeeded }) { try await cancelUnwanted() }
    // Who waited to be stored while the network changed was not there to be woken.
    let path = path.path
    let isWoken = ends.contains { end in
      guard case .failed(_, let around) = end.end.event else { return false }
      return path.hasRoute && path.generation != around.pathAfter.generation
    }
    if isWoken { try await networkChanged() }
  }

  private func forget(_ end: EndedAttempt) {
    guard ofRun.attempts[end.claim.id]?.claim.start == end.claim.start else { return }
    (ofRun.refused[end.claim.id], ofRun.attempts[end.claim.id]) = (nil, nil)
  }

  /// Ends that cannot be stored leave their jobs to the next run.
  func leave(_ ends: [EndedAttempt]) {
    for end in ends where ofRun.attempts[end.claim.id]?.claim.start == end.claim.start {
      forget(end)
      queue.leftBehind.withLock { $0[end.claim.id] = end.claim.start }
    }
  }

  /// Says of what is left behind that its process lives, for whoever works next: a database that
  /// has no room for one job's commit may have it for this.
  func storeLeft() {
    for (job, start) in queue.leftBehind.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
      do {
        // One by one: a trigger of the app's may refuse one of them.
        try transactionWaiting { try $0.stop([job: start], at: queue.environment.now) }
        queue.leftBehind.withLock { $0[job] = nil }
      } catch {
        // The next run of this process says it.
      }
    }
  }

  /// Stores one end in a transaction of its own, also when the worker was told to end: then as long
  /// as ``transactionWaiting(_:)`` waits, once for all of them.
  ///
  /// - Parameter refusal: what the app has said to it before.
  func finish(_ end: EndedAttempt, refusal: OfApp? = nil) async {
    do {
      try await stored([try await storePersistently(end, refusal)])
    } catch is CancellationError where Task.isCancelled {
      // This one alone could not be stored before the worker is to have ended.
      leave([end])
    } catch {
      ofRun.failure = ofRun.failure ?? error
      leave([end])
    }
    ofRun.news?.yield()
  }

  /// - Returns: what was stored as the attempt's end.
  private func storePersistently(
    _ first: EndedAttempt, _ refusal: OfApp?
  ) async throws -> EndedAttempt {
    let environment = queue.environment
    var backoff = environment.unreached
    var isFirst = refusal == nil
    var end = refusal.map { self.refused(first, $0) } ?? first
    while true {
      do {
        try await transactionToTheEnd { try store([end], $0) }
        return end
      } catch let refusal as OfApp {
        // Nothing was written; what the app says to the end is the attempt's failure.
        end = self.refused(end, refusal)
        if !isFirst {
          // It refuses that too. The job keeps its place, and all others go on.
          ofRun.refused[end.claim.id] = refusal.error
          ofRun.news?.yield()
          try await environment.sleep(for: backoff.next(jitter: environment.jitter()))
        }
        isFirst = false
      }
    }
  }

  private func transactionToTheEnd(_ body: (JobRows) throws -> Void) async throws {
    do {
      // Told to end, it would wait twice as long as the app has SQLite wait.
      if !Task.isCancelled { return try await transaction(body) }
    } catch is CancellationError where Task.isCancelled {
      // In its sleep.
    }
    if let failure = ofRun.failure { throw failure }
    do {
      try transactionWaiting(body)
    } catch let error as DatabaseError where error.passes {
      ofRun.hasWaitedToTheEnd = true
      throw CancellationError()
    }
  }

  private func refused(_ ended: EndedAttempt, _ refusal: OfApp) -> EndedAttempt {
    var end = self.end(
      of: ended.claim, refusal.error, pathBefore: ended.pathBefore, isOfService: false)
    (end.ran, end.spent) = (ended.end.ran, ended.end.spent)
    if Task.isCancelled, end.isOfStop { end = end.stopped }
    return EndedAttempt(claim: ended.claim, end: end, pathBefore: ended.pathBefore)
  }
}
