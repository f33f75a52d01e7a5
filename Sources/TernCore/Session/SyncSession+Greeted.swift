extension SyncSession {
  /// What holds from one greeting to the next. Each begins with a whole one, so that nothing of the
  /// last stays.
  struct Greeted: Sendable {
    /// What the remote is known to hold.
    var heads = VersionVector()
    var epoch = ""
    /// Its position at the greeting. One that is less is of a remote that lost what it held then.
    var position: UInt64 = 0
    /// The newest position that the remote has told of, and the one up to which all is pulled.
    var announced: UInt64 = 0
    var pulledUpTo: UInt64 = 0
    /// The remote became another since: it may have lost what it held then.
    var mustGreetAgain = false
    var refusal: Refusal?
    /// The remote's newest, and whether it would like a newer one.
    var snapshot: RemoteSnapshot?
    var wantsSnapshot = false
    /// What was tried since, and is not tried again before the next.
    var loaded: String?
    var isBaseCut = false
    var isCompared = false
    /// Another replica's state, and whether the remote would like to know this one's.
    var state: StateReport?
    var asksForState = false
    /// Whether the state here differed from another replica's, either of which may be right.
    var isDoubtful = false
    /// The last with which a repair was tried.
    var triedSnapshot: String?

    /// Before the first.
    init() {}

    init(_ greeting: RemoteGreeting, _ comparison: StateComparison?, hasMore: Bool) {
      heads = greeting.heads
      epoch = greeting.epoch
      (position, announced) = (greeting.position, greeting.position)
      (snapshot, wantsSnapshot) = (greeting.snapshot, greeting.wantsSnapshot)
      (state, asksForState) = (greeting.state, greeting.wantsState)
      isDoubtful = hasMore || comparison.map { !$0.tables.isEmpty } ?? false
      triedSnapshot = hasMore ? nil : comparison?.snapshot
    }
  }
}
