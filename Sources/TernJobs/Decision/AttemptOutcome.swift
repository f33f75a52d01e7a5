import TernCore

/// What was read of a job as its attempt ends, and what its claim says.
struct AttemptStanding: Hashable {
  /// `nil` where it is not the attempt's job any more: it was removed or cancelled, or another
  /// attempt has it.
  var life: JobLife?
  var service: String?
  /// When it was enqueued.
  var enqueued: WallTime
  /// By name, those that were begun and have come to nothing: of an attempt that entrusted some,
  /// these.
  var transfers: [ExactText: BegunTransfer] = [:]
  /// By name, what is stored of those that the attempt failed of.
  var refusals: [String: RefusedTransfer] = [:]
  /// How many jobs have not ended, where the attempt was refused room.
  var unfinished = 0
}

/// What becomes of a job as its attempt ends, and of all that its end says something of: decided
/// from what was read, and written as it stands here.
struct AttemptOutcome: Hashable {
  enum Budget: Hashable {
    case spent, returned
  }

  /// A transfer's checkpoint.
  enum Change: Hashable {
    case begun(String, BegunTransfer)
    case refused(String, RefusedTransfer)
    case dropped(SpentTransfer)
  }

  /// A line in the history of the job's failures.
  struct Failure: Hashable {
    let reason: String
    /// Whether it was one attempt less for the job, or the last.
    let counts: Bool
  }

  /// `nil` where its row is left as it is.
  private(set) var life: JobLife?
  /// When it may be tried again; `nil` leaves its place in the order.
  private(set) var ready: WallTime?
  /// What its row says.
  private(set) var reason: String?
  private(set) var failure: Failure?
  private(set) var changes: [Change] = []
  /// What is told to its service's gate.
  private(set) var gate: GateLife.Event?
  /// What is told of its lane's credential.
  private(set) var credential: CredentialLife.Event?
  /// What its service's budget gains or loses.
  private(set) var budget: Budget?
  /// What observers are told.
  private(set) var news: JobEvent.Change?

  /// - Parameter time: since 1970.
  init(_ end: AttemptEnd, of job: JobID, _ standing: AttemptStanding, at time: Duration) {
    let ran = end.ran ?? .zero
    guard let before = standing.life else {
      gate = Self.gate(closedBy: end, at: time)
      news = .abandoned(ran: ran)
      return
    }
    var life = before
    let action = life.handle(event(end, standing, at: time))
    self.life = life
    if standing.service != nil {
      if end.event == .succeeded {
        budget = .returned
      } else if end.isOfService, end.event.costsService {
        budget = .spent
      }
    }
    let now = WallTime(notAfter: time)
    switch action {
    case .none: gate = end.event == .succeeded ? .passed(job) : .ended(job)
    case .wait(let delay):
      // Without a wait its place in the order stays.
      if delay > .zero { ready = WallTime(notBefore: time + delay) }
      gate = .ended(job)
    case .closeGate(let delay):
      let until = WallTime(notBefore: time + delay)
      if standing.service == nil { ready = until }
      gate = .limited(since: now, until: until)
    }
    let counts = life.failures > before.failures
    news = Self.news(
      of: end, action, counts: counts, ran: ran, service: standing.service,
      age: max(now.duration - standing.enqueued.duration, .zero))
    if life.state == .done { return }
    let names = end.entrusted.sorted().map { "“\($0)”" }.joined(separator: ", ")
    let waits = ready == nil || names.isEmpty ? nil : "what it handed over goes on: \(names)"
    reason = end.reason ?? waits
    failure = end.reason.map { Failure(reason: $0, counts: counts || life.state != .waiting) }
  }

  /// What its service said to an attempt that is not its job's any more holds for the others.
  static func gate(closedBy end: AttemptEnd, at time: Duration) -> GateLife.Event? {
    guard case .failed(.limited(let delay), let around) = end.event else { return nil }
    let until = WallTime(notBefore: time + JobLife.gateDelay(delay, around))
    return .limited(since: WallTime(notAfter: time), until: until)
  }

  /// What the end is to the job, by what is known of its transfers, of room and of its credential.
  private mutating func event(
    _ end: AttemptEnd, _ standing: AttemptStanding, at time: Duration
  ) -> JobLife.Event {
    var event = end.event
    switch event {
    case .entrusted:
      event = .entrusted(for: wait(for: end.entrusted, standing.transfers, at: time))
    case .failed(let advice, var around):
      around.unseenBreaks = endTransfers(end, standing, after: advice)
      event = .failed(advice, around)
    case .unusable: _ = endTransfers(end, standing, after: nil)
    default: break
    }
    // Where there is more room than it found, it may have found too little for all that it wants.
    if let full = end.full, full.isBefore || standing.unfinished >= full.count {
      event = .crowdedOut
    }
    credential = end.credential
    if credential != nil, end.event != .succeeded { event = .unauthorized }
    return event
  }

  // MARK: - Transfers

  /// Lets the job wait for what its transfers come to.
  ///
  /// - Returns: for how long: not at all, if one has come to something.
  private mutating func wait(
    for names: Set<String>, _ transfers: [ExactText: BegunTransfer], at time: Duration
  ) -> Duration {
    let now = WallTime(notAfter: time)
    return names.sorted().map { name in
      guard var begun = transfers[ExactText(name)] else { return .zero }
      begun.isAwaited = true
      changes.append(.begun(name, begun))
      return max(begun.limit.until.duration - now.duration, .zero)
    }.min() ?? .zero
  }

  /// The job waits for what follows from the failure. What the handler was given of transfers, and
  /// is not to be given again, goes, so that the next attempt begins them anew.
  ///
  /// - Parameter advice: what the failure means; `nil` where the job is parked.
  /// - Returns: ``JobLife/Circumstances/unseenBreaks``.
  private mutating func endTransfers(
    _ end: AttemptEnd, _ standing: AttemptStanding, after advice: FailureAdvice?
  ) -> Int {
    var breaks = 0
    for one in end.spent where !Planted.isActive(.refusalKept) {
      let refused = one.kind == .refusal ? standing.refusals[one.name] : nil
      breaks = max(breaks, refused?.unseenBreaks ?? 0)
      let kept = refused?.afterFailure(advice)
      changes.append(kept.map { .refused(one.name, $0) } ?? .dropped(one))
    }
    let transfers = standing.transfers.sorted { $0.key.text < $1.key.text }
    for (name, begun) in transfers where begun.isAwaited {
      var begun = begun
      begun.isAwaited = false
      changes.append(.begun(name.text, begun))
    }
    return breaks
  }

  // MARK: - Observers

  private static func news(
    of end: AttemptEnd, _ action: JobLife.Action, counts: Bool, ran: Duration, service: String?,
    age: Duration
  ) -> JobEvent.Change? {
    switch end.event {
    case .succeeded: return .done(ran: ran, age: age)
    case .shutDown: return .stopped(ran: ran)
    case .unusable: return .parked(.unreadable, reason: end.reason ?? "", ran: ran)
    case .failed(let advice, _):
      let next: JobEvent.Next =
        switch action {
        case .none: .never
        case .wait(let delay): .after(delay)
        case .closeGate(let delay): service == nil ? .after(delay) : .gate(delay)
        }
      let failure = JobEvent.Failure(
        error: end.error ?? "", reason: end.reason ?? "", advice: advice, counts: counts,
        next: next)
      return .failed(failure, ran: ran)
    case .entrusted: return .entrusted(ran: ran)
    case .claimed, .checkpoint, .processDied, .revived, .cancelled, .crowdedOut, .unauthorized:
      return nil
    }
  }
}
