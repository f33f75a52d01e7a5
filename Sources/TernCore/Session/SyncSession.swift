/// What a sync with one remote does next: event in, action out. Holds no connection and no clock.
package struct SyncSession: Sendable {
  package enum Phase: Hashable, Sendable {
    /// Asking the remote what it has. Everything begins here, and does again after a failure.
    case greeting
    /// Forgetting a cursor that is not of the remote's history.
    case resetting
    /// Sending what the remote lacks, until it lacks nothing.
    case pushing
    /// Giving what no one accepted new times, because the clock here was ahead.
    case restamping
    /// Fetching until a page says that there is no more.
    case pulling
    /// Up to date, until something is written here or there.
    case listening
    /// After a failure, until the wait is over.
    case waiting
  }

  package enum Event: Sendable {
    case greeted(RemoteGreeting, knownEpoch: String?)
    case didReset
    /// The remote has stored everything up to these sequence numbers.
    case pushed(VersionVector, PushReceipt)
    case hadNothingToPush
    case didRestamp
    case pulled(VersionVector, hasMore: Bool)
    case localWrite
    case remotePosition(UInt64)
    case waited
    /// - Parameter jitter: from 0 to 1.
    case failed(RemoteError, jitter: Double)
  }

  package enum Action: Hashable, Sendable {
    case greet
    case resetCursor(epoch: String)
    case push
    case restamp(nowMilliseconds: Int64)
    case pull
    case listen
    case wait(Duration)
  }

  package private(set) var phase = Phase.greeting
  /// What the remote is known to hold.
  package private(set) var heads = VersionVector()
  package private(set) var epoch = ""
  private var backoff: Backoff
  /// The newest position that the remote has told of, and the one up to which all is pulled.
  private var announced: UInt64 = 0
  private var pulledUpTo: UInt64 = 0
  private var positionAtPull: UInt64 = 0
  private var restampsInARow = 0
  /// The cursor was forgotten, and no page has come since.
  private var isAtBeginning = false
  /// Why the remote will not take what is next to push, until the wait that follows is over. What
  /// the remote holds is pulled before it.
  package private(set) var refusal: RemoteError?
  private var waitAfterRefusal = Duration.zero

  package init(backoff: Backoff = Backoff()) {
    self.backoff = backoff
  }

  package var firstAction: Action { .greet }

  package mutating func handle(_ event: Event) -> Action {
    switch (phase, event) {
    case (_, .failed(let error, let jitter)): return fail(error, jitter)
    case (.greeting, .greeted(let greeting, let knownEpoch)):
      refusal = nil
      heads = greeting.heads
      epoch = greeting.epoch
      announced = greeting.position
      pulledUpTo = 0
      if let knownEpoch, knownEpoch != greeting.epoch {
        phase = .resetting
        return .resetCursor(epoch: greeting.epoch)
      }
      return push()
    case (.resetting, .didReset):
      isAtBeginning = true
      return push()
    case (.pushing, .pushed(let sent, let receipt)):
      restampsInARow = 0
      for (replica, sequence) in sent.sequences { heads[replica] = max(heads[replica], sequence) }
      announced = max(announced, receipt.position)
      return push()
    case (.pushing, .hadNothingToPush): return announced > pulledUpTo ? pull() : listen()
    case (.restamping, .didRestamp): return push()
    case (.pulling, .pulled(let received, let hasMore)):
      isAtBeginning = false
      for (replica, sequence) in received.sequences {
        heads[replica] = max(heads[replica], sequence)
      }
      if hasMore { return pull() }
      pulledUpTo = max(pulledUpTo, positionAtPull)
      return refusal == nil ? push() : wait(waitAfterRefusal)
    case (.listening, .localWrite): return push()
    case (.listening, .remotePosition(let position)):
      // Only now is everything known to work, the event stream too.
      backoff.reset()
      announced = max(announced, position)
      return announced > pulledUpTo ? pull() : .listen
    case (.waiting, .waited):
      phase = .greeting
      return .greet
    default:
      preconditionFailure("sync session: \(event) can not happen while \(phase)")
    }
  }

  private mutating func push() -> Action {
    phase = .pushing
    return .push
  }

  private mutating func pull() -> Action {
    if phase != .pulling { positionAtPull = announced }
    phase = .pulling
    return .pull
  }

  private mutating func listen() -> Action {
    phase = .listening
    return .listen
  }

  private mutating func wait(_ delay: Duration) -> Action {
    phase = .waiting
    return .wait(delay)
  }

  private mutating func fail(_ error: RemoteError, _ jitter: Double) -> Action {
    switch (error.code, phase) {
    case (.timeAhead, .pushing) where restampsInARow < 3:
      restampsInARow += 1
      phase = .restamping
      return .restamp(nowMilliseconds: error.nowMilliseconds ?? 0)
    // A remote that does not know the beginning either is asked again only after a wait.
    case (.cursorUnknown, .pulling) where !isAtBeginning:
      phase = .resetting
      return .resetCursor(epoch: epoch)
    default:
      // What no repetition mends is tried again at the slowest pace, in case someone mends it.
      let isLasting = !error.isTransient && error.code != .sequenceGap
      let delay = isLasting ? backoff.limit : backoff.next(jitter: jitter)
      let total = max(delay, error.retryAfter ?? .zero)
      guard phase == .pushing, isLasting, error.refusesPushAlone else { return wait(total) }
      (refusal, waitAfterRefusal) = (error, total)
      return announced > pulledUpTo ? pull() : wait(total)
    }
  }
}

extension RemoteError {
  /// Whether it is what was pushed that was refused, so that a pull can go well.
  fileprivate var refusesPushAlone: Bool {
    switch code {
    case .local, .unauthorized, .forbidden: false
    default: true
    }
  }
}
