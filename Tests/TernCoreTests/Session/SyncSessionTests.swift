import Testing

@testable import TernCore

@Suite("Session: what a session does next")
struct SyncSessionTests {
  /// Up to date with a remote that holds what `own` wrote up to 3.
  private func listening(_ own: ReplicaID, wantsSnapshot: Bool = false) -> SyncSession {
    var session = SyncSession()
    var greeting = RemoteGreeting(
      epoch: "first", now: nil, position: 3, heads: VersionVector([own: 3]))
    greeting.wantsSnapshot = wantsSnapshot
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .pull)
    #expect(session.handle(.pulled(VersionVector(), hasMore: false)) == .push)
    return session
  }

  /// Simulation, seed 21: the server was wiped between a push and the pull that followed, and its
  /// event stream had not been opened yet, so that nothing else told of it.
  @Test func `a cursor that the remote does not know is followed by a greeting`() {
    let own = ReplicaID(high: 0, low: 1)
    var session = listening(own)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    #expect(session.handle(.remotePosition(4)) == .pull)
    let unknown = RemoteError(.cursorUnknown, "wiped")
    #expect(session.handle(.failed(unknown, jitter: 0)) == .resetCursor(epoch: "first"))
    #expect(session.handle(.didReset) == .greet)
    let now = RemoteGreeting(
      epoch: "second", now: nil, position: 0, heads: VersionVector())
    let reset = session.handle(.greeted(now, knownEpoch: "first"))
    #expect(reset == .resetCursor(epoch: "second"))
    // It lacks what it held before.
    #expect(session.heads == VersionVector())
    #expect(session.handle(.didReset) == .push)
  }

  /// Simulation, seed 60: nobody pushed what was written while a snapshot was on its way that the
  /// remote then did not want, since another device had given it one.
  @Test func `a snapshot that is refused is followed by a push`() {
    var session = listening(ReplicaID(high: 0, low: 1), wantsSnapshot: true)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .cutSnapshot(isBase: false))
    let refused = RemoteError(.sequenceConflict, "there is a newer one")
    #expect(session.handle(.failed(refused, jitter: 0)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
  }

  /// Simulation, seed 430: the server was wiped behind the last request before the event stream was
  /// opened, and another device had given it a snapshot to begin from.
  @Test func `a position before that of the greeting is followed by a greeting`() {
    var session = listening(ReplicaID(high: 0, low: 1))
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    #expect(session.handle(.remotePosition(3)) == .listen)
    #expect(session.handle(.remotePosition(2)) == .greet)
  }

  /// Simulation, seed 589: the device offered what its log no longer has to a server that was put
  /// back to before all of it, with the cursor of before, again and again.
  @Test func `a base with a cursor that the remote does not know is cut again without it`() {
    var session = listening(ReplicaID(high: 0, low: 1))
    #expect(session.handle(.hadNothingToPush(needsBase: true)) == .cutSnapshot(isBase: true))
    let unknown = RemoteError(.cursorUnknown, "restored")
    #expect(session.handle(.failed(unknown, jitter: 0)) == .resetCursor(epoch: "first"))
    #expect(session.handle(.didReset) == .greet)
    let now = RemoteGreeting(
      epoch: "first", now: nil, position: 0, heads: VersionVector())
    #expect(session.handle(.greeted(now, knownEpoch: "first")) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: true)) == .cutSnapshot(isBase: true))
    // Not for ever: a remote that does not know the beginning either is left alone.
    #expect(session.handle(.failed(unknown, jitter: 0)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: true)) == .listen)
    #expect(session.refusal?.error.code == .cursorUnknown)
  }

  @Test func `what the remote refuses of one author keeps back no base of others`() {
    var session = listening(ReplicaID(high: 0, low: 1))
    let error = RemoteError(.tooLarge, "not that")
    let refused = SyncSession.Event.hadNothingButRefused(error, needsBase: true, jitter: 0)
    #expect(session.handle(refused) == .cutSnapshot(isBase: true))
    #expect(session.handle(.cutSnapshot) == .greet)
    let now = RemoteGreeting(
      epoch: "first", now: nil, position: 3, heads: VersionVector())
    #expect(session.handle(.greeted(now, knownEpoch: "first")) == .push)
    let done = SyncSession.Event.hadNothingButRefused(error, needsBase: false, jitter: 0)
    #expect(session.handle(done) == .pull)
    #expect(session.handle(.pulled(VersionVector(), hasMore: false)) == .push)
    #expect(session.handle(done) == .listen)
    #expect(session.refusal?.error.code == .tooLarge)
  }

  @Test func `a remote that forgets its own cursors is asked again only after a wait`() {
    let own = ReplicaID(high: 0, low: 1)
    let greeting = RemoteGreeting(
      epoch: "first", now: nil, position: 4, heads: VersionVector([own: 1]))
    let unknown = RemoteError(.cursorUnknown, "asked another server of the same name")
    var session = SyncSession()
    for _ in 1...2 {
      #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
      #expect(session.handle(.hadNothingToPush(needsBase: false)) == .pull)
      #expect(session.handle(.pulled(VersionVector(), hasMore: true)) == .pull)
      #expect(session.handle(.failed(unknown, jitter: 0)) == .resetCursor(epoch: "first"))
      #expect(session.handle(.didReset) == .greet)
      #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
      #expect(session.handle(.hadNothingToPush(needsBase: false)) == .pull)
      #expect(session.handle(.pulled(VersionVector(), hasMore: true)) == .pull)
      guard case .wait = session.handle(.failed(unknown, jitter: 0)) else {
        Issue.record("it is asked at once")
        return
      }
      #expect(session.handle(.waited) == .greet)
    }
  }

  @Test func `a base that the remote took and does not show is cut again only after a wait`() {
    let own = ReplicaID(high: 0, low: 1)
    var session = listening(own)
    var greeting = RemoteGreeting(
      epoch: "first", now: nil, position: 0, heads: VersionVector())
    greeting.wantsSnapshot = true
    for _ in 1...2 {
      #expect(session.handle(.hadNothingToPush(needsBase: true)) == .cutSnapshot(isBase: true))
      #expect(session.handle(.cutSnapshot) == .greet)
      #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
      #expect(session.handle(.hadNothingToPush(needsBase: true)) == .listen)
      #expect(session.refusal?.error.code == .unexpectedAnswer)
      #expect(session.handle(.mayAskAgain(session.refusal?.number ?? 0)) == .greet)
      #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    }
    // One that it shows is one thing, and one that it lost later another.
    #expect(session.handle(.hadNothingToPush(needsBase: true)) == .cutSnapshot(isBase: true))
    #expect(session.handle(.cutSnapshot) == .greet)
    greeting.wantsSnapshot = false
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    #expect(session.handle(.woken(isByNetwork: false)) == .greet)
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: true)) == .cutSnapshot(isBase: true))
  }

  // MARK: - Waits

  private let unreachable = RemoteError(.unreachable, "cut")

  /// A session that listens, after so many failures in a row.
  private func failed(_ count: Int) -> SyncSession {
    var session = listening(ReplicaID(high: 0, low: 1))
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    for _ in 0..<count { session = cut(session).session }
    return session
  }

  /// Its stream ends, and everything goes well again until the next one.
  private func cut(_ old: SyncSession) -> (session: SyncSession, wait: SyncSession.Action) {
    var session = old
    let wait = session.handle(.failed(unreachable, jitter: 1))
    #expect(session.handle(.waited) == .greet)
    let greeting = RemoteGreeting(
      epoch: "first", now: nil, position: 0, heads: VersionVector())
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    return (session, wait)
  }

  @Test func `a stream that is cut after its first position is opened less and less often`() {
    var session = failed(3)
    #expect(session.handle(.remotePosition(0)) == .listen)
    let (again, wait) = cut(session)
    #expect(wait == .wait(.seconds(4), pause: .zero))
    session = again
    #expect(session.handle(.streamHolds) == .listen)
    #expect(cut(session).wait == .wait(.milliseconds(500), pause: .zero))
  }

  @Test func `another network ends a wait, and what was waited before counts no more`() {
    var session = failed(5)
    #expect(session.handle(.woken(isByNetwork: true)) == .listen)
    #expect(
      session.handle(.failed(unreachable, jitter: 1)) == .wait(.milliseconds(500), pause: .zero))
    #expect(session.handle(.woken(isByNetwork: false)) == .greet)
    #expect(session.handle(.failed(unreachable, jitter: 1)) == .wait(.seconds(1), pause: .zero))
    #expect(session.handle(.woken(isByNetwork: true)) == .greet)
    #expect(
      session.handle(.failed(unreachable, jitter: 1)) == .wait(.milliseconds(500), pause: .zero))
  }

  @Test func `a remote is left alone as it asks, and not for days`() {
    for (asked, pause) in [(20, 20), (86_400, 900), (-5, 0)] as [(Int64, Int64)] {
      var session = failed(0)
      let error = RemoteError(.unavailable, "later", retryAfter: .seconds(asked))
      let wait = max(.milliseconds(500), Duration.seconds(pause))
      #expect(
        session.handle(.failed(error, jitter: 1)) == .wait(wait, pause: .seconds(pause)))
    }
  }

  @Test func `a database in use is tried again soon, and what cannot be mended is not`() {
    for (code, wait) in [
      (RemoteError.Code.busy, Duration.milliseconds(500)), (.local, .seconds(60)),
    ] {
      var session = failed(0)
      #expect(
        session.handle(.failed(RemoteError(code, "x"), jitter: 1)) == .wait(wait, pause: .zero))
    }
  }

  @Test func `without the remote's clock nothing gets another time`() {
    var session = failed(0)
    #expect(session.handle(.localWrite) == .push)
    #expect(session.handle(.failed(RemoteError(.timeAhead, "x"), jitter: 0)) == .listen)
    #expect(session.refusal?.error.code == .timeAhead && session.refusal?.isOfOwn == true)
  }

  // MARK: - States

  private let snapshot = RemoteSnapshot(
    id: "s", position: 3, cursor: RemoteCursor(rawValue: "3"), parts: 1)
  private let differs = RemoteError(.stateDiffers, "item")

  /// In a space with another replica's report, with nothing else left to do.
  private func comparing(_ snapshot: RemoteSnapshot?, _ comparison: StateComparison? = nil)
    -> SyncSession
  {
    var session = SyncSession()
    var greeting = RemoteGreeting(
      epoch: "first", now: nil, position: 0, heads: VersionVector(), snapshot: snapshot,
      wantsSnapshot: true)
    greeting.state = report
    #expect(
      session.handle(.greeted(greeting, knownEpoch: nil, comparison: comparison)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .compareState(report))
    return session
  }

  private var report: StateReport {
    StateReport(
      replica: ReplicaID(high: 0, low: 2), cursor: RemoteCursor(rawValue: "3"), operations: 3,
      tables: [:]
    )
  }

  @Test func `a difference is mended with the snapshot, and compared again`() {
    var session = comparing(snapshot)
    #expect(session.canRepair && !session.isRepaired)
    #expect(
      session.handle(.differed(differs, jitter: 0)) == .loadSnapshot(snapshot, isRepairing: true))
    #expect(!session.isRepaired)
    #expect(session.handle(.loadedSnapshot) == .pull)
    #expect(session.isRepaired && !session.canRepair)
    #expect(session.handle(.pulled(VersionVector(), hasMore: false)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .compareState(report))
    #expect(session.handle(.compared(isEqual: true)) == .push)
    #expect(!session.isRepaired && session.refusal == nil)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .cutSnapshot(isBase: false))
  }

  @Test func `a state in doubt is not made the space's snapshot`() {
    var session = comparing(nil)
    #expect(session.handle(.differed(differs, jitter: 0)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
    #expect(session.refusal?.error == differs)
    // Nor after a new start, with a snapshot that was tried and did not help.
    let known = StateComparison(tables: ["item"], snapshot: "s")
    session = comparing(snapshot, known)
    #expect(!session.canRepair)
    #expect(session.handle(.compared(isEqual: false)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .listen)
  }

  @Test func `a repair that fails leaves the doubt`() {
    var session = comparing(snapshot)
    #expect(
      session.handle(.differed(differs, jitter: 0)) == .loadSnapshot(snapshot, isRepairing: true))
    let cut = RemoteError(.unreachable, "cut")
    guard case .wait = session.handle(.failed(cut, jitter: 0)) else {
      Issue.record("it does not wait")
      return
    }
    #expect(!session.isRepaired && session.handle(.waited) == .greet)
  }

  @Test func `a report that is refused keeps nothing back`() {
    var session = comparing(nil)
    let refused = RemoteError(.tooLarge, "the report")
    #expect(session.handle(.failed(refused, jitter: 0)) == .push)
    #expect(session.handle(.hadNothingToPush(needsBase: false)) == .cutSnapshot(isBase: false))
  }
}
