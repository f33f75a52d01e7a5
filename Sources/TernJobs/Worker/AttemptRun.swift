import GRDB
import TernCore

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

  /// What the app says to an end that it refuses is the attempt's failure.
  func refused(by refusal: OfApp, _ environment: JobEnvironment, path: NetworkPath) -> EndedAttempt
  {
    var end = AttemptEnd(
      refusal.error, of: claim, environment, from: pathBefore, to: path, isOfService: false)
    (end.ran, end.spent) = (self.end.ran, self.end.spent)
    if Task.isCancelled, end.isOfStop { end = end.stopped }
    return EndedAttempt(claim: claim, end: end, pathBefore: pathBefore)
  }
}

/// One run of a job's handler. Off the worker's actor, so that a handler blocks nobody.
struct AttemptRun: Sendable {
  let attempt: Attempt
  let worker: JobWorker

  enum Outcome {
    case ended(EndedAttempt)
    /// Its end was stored before. What its handler says then.
    case fenced(AttemptEnd)
  }

  private var claim: Claim { attempt.claim }
  private var path: NetworkPath { worker.path.path }

  func run() async -> Outcome {
    let before = path
    let context = JobContext(claim: claim, worker: worker)
    // What a handler says that is told to end, that its service wants no requests for example, is
    // heard.
    var end: AttemptEnd
    var hasFailed = false
    do {
      try await attempt.task.run {
        try await surround(context, worker.surrounding[...], worker.handlers.work(of: claim))
      }
      end = AttemptEnd(event: .succeeded, reason: nil)
      end.credential = context.attempted.credential.map(CredentialLife.Event.accepted)
    } catch {
      end = failure(
        error, from: context.attempted.transferred.isUnsteady ? .unseen(as: path) : before,
        isOfService: !context.attempted.isRefusal(error))
      end.credential = .init(saidBy: error, of: context.attempted.credential)
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
    let (cause, isOwn) = attempt.task.returned()
    guard isOwn else { return .fenced(end) }
    if end.isOfStop { end = self.end(end, causedBy: cause, from: before) }
    var ended = EndedAttempt(claim: claim, end: end, pathBefore: before)
    if Task.isCancelled, end.isOfStop { (ended.end, ended.own) = (end.stopped, end) }
    return .ended(ended)
  }

  private func surround(
    _ context: JobContext, _ rest: ArraySlice<any JobSurrounding>, _ work: JobHandlers.Work
  ) async throws {
    guard let first = rest.first else { return try await work(context) }
    try await first.surround(context) { try await surround(context, rest.dropFirst(), work) }
  }

  /// What its end is worth of a handler that was told to end, whatever it says.
  private func end(
    _ end: AttemptEnd, causedBy cause: CancellationCause?, from before: NetworkPath
  ) -> AttemptEnd {
    switch cause {
    case .recalled, nil: return end
    case .unmet: return end.stopped
    case .overran:
      var overrun = failure(
        JobFailure(.interrupted(isLocal: false), claim.overrun), from: before)
      (overrun.spent, overrun.ran) = (end.spent, end.ran)
      return overrun
    }
  }

  /// Ends it without its handler, which did not heed its cancellation in time.
  func fenced() -> EndedAttempt {
    let error = JobFailure(
      .failed,
      "\(claim.overrun), and its handler did not heed its cancellation within "
        + "\(RunningAttempts.grace)")
    let path = path
    var end = failure(error, from: path)
    end.ran = attempt.ran?()
    return EndedAttempt(claim: claim, end: end, pathBefore: path)
  }

  private func failure(
    _ error: any Error, from before: NetworkPath, isOfService: Bool = true
  ) -> AttemptEnd {
    AttemptEnd(
      error, of: claim, worker.queue.environment, from: before, to: path, isOfService: isOfService)
  }
}

extension AttemptEnd {
  /// What it means that a handler threw.
  ///
  /// - Parameters:
  ///   - before: the network as the attempt began.
  ///   - isOfService: whether it may be about the job's service.
  init(
    _ error: any Error, of claim: Claim, _ environment: JobEnvironment, from before: NetworkPath,
    to after: NetworkPath, isOfService: Bool
  ) {
    if let error = error as? JobQueueError, error.code == .unreadable {
      self.init(event: .unusable, reason: error.message)
      return
    }
    if let unusable = error as? Unusable {
      self.init(event: .unusable, reason: unusable.reason)
      return
    }
    // Of the database that the handler uses: the app suspended it, say, which is nobody's failure.
    let isInterrupted = (error as? DatabaseError)?.isInterruptionError ?? false
    let advice = (error as? any AdvisingError)?.advice ?? (isInterrupted ? .unreachable : .failed)
    let around = JobLife.Circumstances(
      pathBefore: before, pathAfter: after, retry: claim.retry, backoff: environment.unreached,
      jitter: environment.jitter(), gateDelay: environment.gateDelay,
      longestGate: environment.longestGate)
    self.init(
      event: .failed(advice, around), reason: FailureText.of(error),
      isOfService: isOfService && !(error is DatabaseError || error is JobQueueError),
      error: environment.observers.isEmpty ? nil : FailureText.name(of: error))
    // Another queue's room is no matter of this one's.
    if let full = (error as? JobQueueError)?.full, full.queue == claim.queue { self.full = full }
  }
}

extension Claim {
  var overrun: String {
    "the attempt went \(limit.map { "\($0)" } ?? "too long") without progress"
  }
}
