import TernCore

/// What becomes of a job: event in, the next state out. Holds no clock and no database.
package struct JobLife: Hashable, Sendable {
  package private(set) var state: JobState
  /// Attempts in a row that failed and count, since the last checkpoint.
  package private(set) var failures: Int
  /// Attempts in a row that reached nobody.
  package private(set) var unreached: Int
  /// Attempts in a row that ended with their process.
  package private(set) var deaths: Int

  /// A service that says no and to come back at once is not asked in a circle.
  package static let shortestGate = Duration.seconds(1)

  /// A transfer that a system carries beyond its process may break so often in a row at no cost,
  /// with nobody there to see whether the network stayed. What is too large for somebody on the way
  /// breaks each time, and is not to be sent for ever.
  package static let freeBreaks = 4

  package init(state: JobState, failures: Int = 0, unreached: Int = 0, deaths: Int = 0) {
    (self.state, self.failures, self.unreached) = (state, failures, unreached)
    self.deaths = deaths
  }

  package enum Event: Hashable, Sendable {
    case claimed
    /// Something of it is done and stored.
    case checkpoint
    case succeeded
    /// The worker ends, and the attempt with it.
    case shutDown
    /// The process that ran it is dead.
    ///
    /// - Parameter limit: after so many in a row it is not tried again.
    case processDied(limit: Int)
    /// No handler knows its kind, or something of it cannot be read.
    case unusable
    case failed(FailureAdvice, Circumstances)
    /// Somebody wants it tried afresh, or a handler for its kind is there.
    case revived
    /// Nobody wants it any more.
    case cancelled
    /// What it waits for goes on without the attempt, for so long at most.
    case entrusted(for: Duration)
    /// Its queue had no room for what it enqueues.
    case crowdedOut
    /// Its credential was refused, or there is none.
    case unauthorized
  }

  /// What surrounds a failure.
  package struct Circumstances: Hashable, Sendable {
    /// The network as the attempt began, and as it failed.
    package var pathBefore: NetworkPath
    package var pathAfter: NetworkPath
    package var retry: RetryPolicy
    package var backoff: Backoff
    /// From 0 to 1.
    package var jitter: Double
    /// Of a gate whose service did not say.
    package var gateDelay: Duration
    package var longestGate: Duration
    /// How often in a row, before, the transfer that the attempt failed of had broken unseen; 0
    /// where this time somebody saw it.
    package var unseenBreaks = 0

    /// The network is no excuse.
    package var isSteady: Bool { pathBefore.hasRoute && pathBefore == pathAfter }

    package init(
      pathBefore: NetworkPath, pathAfter: NetworkPath, retry: RetryPolicy = .standard,
      backoff: Backoff = Backoff(), jitter: Double = 1, gateDelay: Duration = .seconds(30),
      longestGate: Duration = .seconds(86_400)
    ) {
      (self.pathBefore, self.pathAfter, self.retry) = (pathBefore, pathAfter, retry)
      (self.backoff, self.jitter, self.gateDelay) = (backoff, jitter, gateDelay)
      self.longestGate = longestGate
    }
  }

  package enum Action: Hashable, Sendable {
    /// Nothing further.
    case none
    /// Ready after a while.
    case wait(Duration)
    /// Close the service's gate for a while; the job is ready as soon as that lets it.
    case closeGate(Duration)
  }

  package mutating func handle(_ event: Event) -> Action {
    switch (state, event) {
    case (.waiting, .claimed):
      state = .running
      return .none
    case (.waiting, .unusable):
      state = .parked
      return .none
    case (.running, .unusable):
      (state, deaths) = (.parked, 0)
      return .none
    case (.running, .checkpoint):
      // Progress was made: what failed before is no sign of what comes.
      (failures, unreached, deaths) = (0, 0, 0)
      return .none
    case (.running, .succeeded):
      state = .done
      return .none
    case (.running, .processDied(let limit)):
      if Planted.isActive(.crashBurnsAttempt) { failures += 1 }
      deaths += 1
      state = deaths < limit ? .waiting : .parked
      return state == .waiting ? .wait(.zero) : .none
    case (.running, .shutDown):
      (state, deaths) = (.waiting, 0)
      return .wait(.zero)
    case (.running, .entrusted(let time)):
      // Nobody may have been reached yet: `unreached` stays, so that waits grow from
      // upload to upload.
      (state, deaths) = (.waiting, 0)
      return .wait(time)
    case (.running, .crowdedOut), (.running, .unauthorized):
      // Its worker, or its lane, knows when it may go on.
      (state, unreached, deaths) = (.waiting, 0, 0)
      return .wait(.zero)
    case (.running, .failed(let advice, let circumstances)):
      deaths = 0
      return fail(advice, circumstances)
    case (.failed, .revived), (.parked, .revived):
      (state, failures, unreached, deaths) = (.waiting, 0, 0, 0)
      return .wait(.zero)
    case (.waiting, .cancelled), (.running, .cancelled), (.failed, .cancelled),
      (.parked, .cancelled):
      state = .cancelled
      return .none
    default:
      preconditionFailure("job: \(event) cannot happen while \(state)")
    }
  }

  private mutating func fail(_ advice: FailureAdvice, _ around: Circumstances) -> Action {
    state = .waiting
    switch advice {
    case .permanent:
      state = .failed
      return .none
    case .failed: return count(around)
    case .interrupted(let isLocal):
      let isFree = around.unseenBreaks < Self.freeBreaks || !around.pathAfter.hasRoute
      return isLocal || around.isSteady || !isFree ? count(around) : missed(around)
    case .unreachable: return missed(around)
    case .limited(let delay):
      // Somebody was reached, and said when to come back, over whatever network.
      unreached = 0
      return .closeGate(Self.gateDelay(delay, around))
    }
  }

  /// For how long a gate closes.
  package static func gateDelay(_ asked: Duration?, _ around: Circumstances) -> Duration {
    min(max(asked ?? around.gateDelay, shortestGate), around.longestGate)
  }

  private mutating func count(_ around: Circumstances) -> Action {
    failures += 1
    unreached = 0
    if let delay = around.retry.delay(afterFailures: failures, draw: around.jitter) {
      return .wait(Planted.isActive(.retryAtOnce) ? .zero : delay)
    }
    state = .failed
    return .none
  }

  private mutating func missed(_ around: Circumstances) -> Action {
    if around.pathBefore.generation != around.pathAfter.generation { unreached = 0 }
    unreached += 1
    // A hint never forbids: without a route it is still tried now and then.
    guard around.pathAfter.hasRoute else { return .wait(around.backoff.limit) }
    var backoff = around.backoff.after(failures: unreached - 1)
    return .wait(backoff.next(jitter: around.jitter))
  }
}

extension JobLife.Event {
  /// Whether it is a sign that the service is out of order: it failed, or was not reached although
  /// there was one and the same network all the while.
  package var costsService: Bool {
    guard case .failed(let advice, let around) = self else { return false }
    return switch advice {
    case .failed: true
    case .interrupted(isLocal: true): true
    case .interrupted, .unreachable: around.isSteady
    case .permanent, .limited: false
    }
  }
}
