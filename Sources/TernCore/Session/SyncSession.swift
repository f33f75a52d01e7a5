import struct Foundation.Date

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
    /// Fetching a snapshot, in place of operations that the remote no longer has.
    case loading
    /// Giving the remote a snapshot.
    case cutting
    /// Comparing the state with another replica's.
    case comparing
    /// Up to date, until something is written here or there.
    case listening
    /// After a failure, until the wait is over.
    case waiting
  }

  package enum Event: Sendable {
    /// - Parameter hasMore: whether this replica has what the remote takes from nobody.
    case greeted(
      RemoteGreeting, knownEpoch: String?, comparison: StateComparison? = nil,
      hasMore: Bool = false)
    case didReset
    /// This replica has another id, because the remote has other operations under the one it had.
    case didChangeID
    /// The remote has stored everything up to these sequence numbers.
    case pushed(VersionVector, PushReceipt)
    /// - Parameter needsBase: whether it lacks what the log no longer has.
    case hadNothingToPush(needsBase: Bool, jitter: Double = 0)
    /// The remote has what there was when pushing began, and this replica has written on.
    ///
    /// - Parameter refused: of what another one wrote.
    case leftSome(refused: RemoteError? = nil, jitter: Double = 0)
    /// It has all of this replica's own, and refused what another one wrote.
    case hadNothingButRefused(RemoteError, needsBase: Bool = false, jitter: Double)
    case didRestamp
    /// - Parameter withheld: why the remote gives everything but something.
    case pulled(VersionVector, hasMore: Bool, withheld: RemoteError? = nil, jitter: Double = 0)
    case loadedSnapshot
    /// The remote has the snapshot, or what is new here has to be pushed before.
    case cutSnapshot
    /// - Parameter isEqual: whether there was one to compare with.
    case compared(isEqual: Bool)
    /// Another replica with the same operations has another state.
    case differed(RemoteError, jitter: Double)
    case localWrite
    case remotePosition(UInt64)
    /// ``Refusal/delay`` is over, of the refusal with that number.
    case mayAskAgain(Int)
    case waited
    /// Before it has waited, or while there was nothing to do: the network changed, or somebody
    /// asked for a sync now.
    case woken(isByNetwork: Bool)
    /// The event stream has lasted for a while.
    case streamHolds
    /// - Parameter jitter: from 0 to 1.
    case failed(RemoteError, jitter: Double)
  }

  package enum Action: Hashable, Sendable {
    case greet
    case resetCursor(epoch: String)
    case push
    case restamp(now: Date)
    case pull
    /// - Parameter isRepairing: whether the state here differs from another replica's, and not only
    ///   lacks what the remote no longer has.
    case loadSnapshot(RemoteSnapshot, isRepairing: Bool)
    case cutSnapshot(isBase: Bool)
    /// With another replica's, if there is one.
    case compareState(StateReport?)
    case listen
    /// - Parameter pause: what the remote asked for, which nothing shortens.
    case wait(Duration, pause: Duration)
  }

  package private(set) var phase = Phase.greeting
  private var greeted = Greeted()
  private var backoff: Backoff
  private var positionAtPull: UInt64 = 0
  private var restampsInARow = 0
  /// Since the greeting, or since all else had its turn.
  package private(set) var pushesInARow = 0
  private static let mostPushesInARow = 8
  /// Whether what is written from now on has to wait until all else had its turn: who writes as
  /// fast as the remote takes it would never pull.
  package var hasPushedMany: Bool { pushesInARow >= Self.mostPushesInARow }
  /// Whether it listens, and has more to push all the same.
  package private(set) var leavesSome = false
  /// The cursor was forgotten, and no page has come since.
  private var isAtBeginning = false
  /// Because the remote did not know it: once, until it had nothing more to give or there
  /// was a wait.
  private var hasForgotten = false
  /// Whether the remote acknowledged a base, and nothing has shown since that it has it.
  private var hasGivenBase = false
  private var isRepairing = false
  /// Whether a snapshot took the state's place, and no comparison was equal since.
  package private(set) var isRepaired = false
  private var refusals = 0

  /// What the remote does not take, or does not give.
  package struct Refusal: Hashable, Sendable {
    package let error: RemoteError
    /// Whether it keeps back what is written here.
    package let isOfOwn: Bool
    /// After which the remote is asked again, in case someone mended it.
    package let delay: Duration
    /// Tells it from others.
    package let number: Int
  }

  package init(backoff: Backoff = Backoff()) {
    self.backoff = backoff
  }

  package var firstAction: Action { .greet }

  package private(set) var hasGreeted = false
  /// What the remote is known to hold; nothing before it has greeted.
  package var heads: VersionVector { greeted.heads }
  package var epoch: String { greeted.epoch }
  /// The newest position that the remote has told of.
  package var announced: UInt64 { greeted.announced }
  /// Whether there is something that was not pulled yet.
  package var hasMoreToPull: Bool { announced > greeted.pulledUpTo }
  /// Whether a position tells of more than what is known, or of a remote that has less.
  package func isNews(_ position: UInt64) -> Bool {
    hasMoreToPull || position > announced || position < greeted.position
  }
  /// Whether the remote would like to know the state here; one in doubt is no measure for others.
  package var wantsState: Bool { greeted.asksForState && !greeted.isDoubtful }
  /// The last with which a repair was tried.
  package var triedSnapshot: String? { greeted.triedSnapshot }
  /// Whether there is a snapshot with which that was not tried.
  package var canRepair: Bool { greeted.snapshot.map { $0.id != triedSnapshot } ?? false }
  /// Everything else goes on beside it, until all begins again.
  package var refusal: Refusal? { greeted.refusal }

  package mutating func handle(_ event: Event) -> Action {
    switch (phase, event) {
    case (_, .failed(let error, let jitter)): return fail(error, jitter)
    case (.greeting, .greeted(let greeting, let knownEpoch, let comparison, let hasMore)):
      (greeted, hasGreeted) = (Greeted(greeting, comparison, hasMore: hasMore), true)
      if let knownEpoch, knownEpoch != greeting.epoch {
        phase = .resetting
        return .resetCursor(epoch: greeting.epoch)
      }
      return push()
    case (.resetting, .didReset):
      isAtBeginning = true
      return greeted.mustGreetAgain ? greet() : push()
    case (.pushing, .didChangeID): return greet()
    case (.pushing, .pushed(let sent, let receipt)):
      restampsInARow = 0
      pushesInARow += 1
      for (replica, sequence) in sent.sequences {
        greeted.heads[replica] = max(greeted.heads[replica], sequence)
      }
      greeted.announced = max(announced, receipt.position)
      return push()
    case (.pushing, .hadNothingToPush(let needsBase, let jitter)):
      if hasMoreToPull { return pull() }
      return cutBase(needsBase, jitter) ?? compare() ?? cut() ?? listen()
    case (.pushing, .leftSome(let refused, let jitter)):
      if let refused { refuse(refused, isOfOwn: false, jitter) }
      leavesSome = true
      return pullOrListen()
    case (.loading, .loadedSnapshot):
      if isRepairing { (isRepairing, isRepaired, greeted.isDoubtful) = (false, true, false) }
      // The snapshot may be of a greeting from before the remote was restored, and its cursor too.
      isAtBeginning = false
      return pull()
    case (.cutting, .cutSnapshot):
      hasGivenBase = greeted.isBaseCut
      return greeted.isBaseCut ? greet() : push()
    case (.comparing, .compared(let isEqual)):
      if isEqual { (greeted.isDoubtful, isRepaired) = (false, false) }
      return push()
    case (.comparing, .differed(let error, let jitter)):
      greeted.isDoubtful = true
      if let repair = repair() { return repair }
      refuse(error, isOfOwn: false, jitter)
      return push()
    case (.pushing, .hadNothingButRefused(let error, let needsBase, let jitter)):
      refuse(error, isOfOwn: false, jitter)
      if hasMoreToPull { return pull() }
      return cutBase(needsBase, jitter) ?? listen()
    case (.restamping, .didRestamp): return push()
    case (.pulling, .pulled(let received, let hasMore, let withheld, let jitter)):
      isAtBeginning = false
      if let withheld { refuse(withheld, isOfOwn: false, jitter) }
      for (replica, sequence) in received.sequences {
        greeted.heads[replica] = max(greeted.heads[replica], sequence)
      }
      if hasMore { return pull() }
      greeted.pulledUpTo = max(greeted.pulledUpTo, positionAtPull)
      return pushOrListen()
    default: return rouse(event)
    }
  }

  /// The same while there is nothing to do, or a wait goes on.
  private mutating func rouse(_ event: Event) -> Action {
    switch (phase, event) {
    case (.listening, .localWrite):
      leavesSome = false
      return pushOrListen()
    case (.listening, .remotePosition(let position)) where position < greeted.position:
      return greet()
    case (.listening, .remotePosition(let position)):
      greeted.announced = max(announced, position)
      return pullOrListen()
    case (.listening, .mayAskAgain(let number)):
      guard number == refusal?.number else { return .listen }
      return greet()
    case (.listening, .streamHolds):
      // Only now is everything known to work: somebody on the way may let a stream begin and cut
      // it at once.
      if refusal == nil { backoff.reset() }
      return .listen
    case (.listening, .woken(isByNetwork: true)):
      // The stream's end comes by itself.
      backoff.reset()
      return .listen
    case (.waiting, .woken(let isByNetwork)):
      if isByNetwork { backoff.reset() }
      return greet()
    case (.waiting, .waited), (.listening, .woken(isByNetwork: false)): return greet()
    default:
      preconditionFailure("sync session: \(event) cannot happen while \(phase)")
    }
  }

  private mutating func greet() -> Action {
    (pushesInARow, leavesSome) = (0, false)
    phase = .greeting
    return .greet
  }

  /// Once after each greeting, whatever becomes of it: a snapshot costs a look at every row.
  private mutating func cutBase(_ isNeeded: Bool, _ jitter: Double) -> Action? {
    let wasGiven = hasGivenBase
    hasGivenBase = false
    guard isNeeded, !greeted.isBaseCut else { return nil }
    greeted.isBaseCut = true
    if wasGiven {
      greeted.wantsSnapshot = false
      let error = RemoteError(
        .unexpectedAnswer,
        "the remote took a snapshot in place of the operations that it lacks, and lacks them still")
      refuse(error, isOfOwn: false, jitter)
      return nil
    }
    phase = .cutting
    return .cutSnapshot(isBase: true)
  }

  /// The same; not of a state that may be the wrong one.
  private mutating func cut() -> Action? {
    guard greeted.wantsSnapshot, !greeted.isDoubtful else { return nil }
    greeted.wantsSnapshot = false
    phase = .cutting
    return .cutSnapshot(isBase: greeted.isBaseCut)
  }

  /// Once after each greeting: it costs a look at every row, too.
  private mutating func compare() -> Action? {
    if greeted.isDoubtful, let repair = repair() { return repair }
    guard greeted.state != nil || wantsState, !greeted.isCompared else { return nil }
    greeted.isCompared = true
    phase = .comparing
    return .compareState(greeted.state)
  }

  /// Each snapshot is tried once: from an equal one comes an equal state.
  private mutating func repair() -> Action? {
    guard canRepair, let snapshot = greeted.snapshot else { return nil }
    (greeted.triedSnapshot, isRepairing, greeted.isCompared) = (snapshot.id, true, false)
    phase = .loading
    return .loadSnapshot(snapshot, isRepairing: true)
  }

  private mutating func push() -> Action {
    leavesSome = false
    phase = .pushing
    return .push
  }

  private mutating func pull() -> Action {
    if phase != .pulling { positionAtPull = announced }
    phase = .pulling
    return .pull
  }

  private mutating func listen() -> Action {
    (pushesInARow, hasForgotten) = (0, false)
    phase = .listening
    return .listen
  }

  private mutating func pullOrListen() -> Action {
    hasMoreToPull ? pull() : listen()
  }

  private mutating func pushOrListen() -> Action {
    refusal?.isOfOwn ?? false ? listen() : push()
  }

  private mutating func wait(_ delay: Duration, pause: Duration) -> Action {
    (phase, hasForgotten) = (.waiting, false)
    return .wait(delay, pause: pause)
  }

  private mutating func fail(_ error: RemoteError, _ jitter: Double) -> Action {
    isRepairing = false
    switch (error.code, phase) {
    // Without its clock there is nothing to stamp by.
    case (.timeAhead, .pushing) where restampsInARow < 3 && error.now != nil:
      restampsInARow += 1
      phase = .restamping
      return .restamp(now: error.now!)
    // A remote that does not know the beginning either, or what it gave itself since, is asked
    // again only after a wait.
    case (.cursorUnknown, .pulling) where !isAtBeginning && !hasForgotten,
      (.cursorUnknown, .cutting) where !isAtBeginning && !hasForgotten:
      phase = .resetting
      (greeted.mustGreetAgain, hasForgotten) = (true, true)
      return .resetCursor(epoch: epoch)
    case (.snapshotNeeded, .pulling)
    where greeted.snapshot != nil && greeted.snapshot?.id != greeted.loaded:
      greeted.loaded = greeted.snapshot?.id
      phase = .loading
      return .loadSnapshot(greeted.snapshot!, isRepairing: false)
    case (_, .comparing) where !error.isTransient: return push()
    case (_, .cutting) where !error.isTransient:
      // Where it only would have liked one, another device has given it one meanwhile, or will.
      if greeted.isBaseCut { refuse(error, isOfOwn: false, jitter) }
      // What was written here while it was on its way told nobody.
      return refusal?.isOfOwn ?? false ? pullOrListen() : push()
    case (_, .pushing) where error.refusesPushAlone:
      // Before a pull that may fail too.
      refuse(error, isOfOwn: true, jitter)
      return pullOrListen()
    default: return wait(delay(after: error, jitter), pause: pause(after: error))
    }
  }

  /// The first stays until all begins again.
  private mutating func refuse(_ error: RemoteError, isOfOwn: Bool, _ jitter: Double) {
    if let refusal, refusal.isOfOwn || !isOfOwn { return }
    refusals += 1
    greeted.refusal = Refusal(
      error: error, isOfOwn: isOfOwn, delay: delay(after: error, jitter), number: refusals)
  }

  private mutating func delay(after error: RemoteError, _ jitter: Double) -> Duration {
    // What no repetition mends is tried again at the slowest pace, in case someone mends it.
    let isLasting = !error.isTransient && error.code != .sequenceGap
    if Planted.isActive(.syncRetryAtOnce) { return pause(after: error) }
    let delay = isLasting ? backoff.limit : backoff.next(jitter: jitter)
    return max(delay, pause(after: error))
  }

  /// Whoever answered in the remote's place, a day's silence is not for it to decide.
  private func pause(after error: RemoteError) -> Duration {
    min(max(error.retryAfter ?? .zero, .zero), Self.longestPause)
  }

  package static let longestPause = Duration.seconds(900)
}

extension RemoteError {
  /// Whether it is what was pushed that was refused, as by a disk that is full, so that a pull can
  /// go well.
  fileprivate var refusesPushAlone: Bool {
    switch code {
    case .local, .foreignOwn, .snapshotUnloadable, .busy: false
    case .unauthorized, .unreachable, .sequenceGap: false
    // Otherwise it asked to be left alone.
    case .unavailable: retryAfter == nil
    default: true
    }
  }
}
