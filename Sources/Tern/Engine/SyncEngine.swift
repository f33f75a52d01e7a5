import Foundation
@_spi(Rehearsal) import TernCore
import TernDatabase

/// Keeps a replica and a remote the same: pushes what is written here, merges what is written
/// there, waits for either, and bears with everything in between.
///
/// ```swift
/// let engine = SyncEngine(replica, remote: HTTPRemote(url, space: "home", token: { token }))
/// async let syncing: Void = engine.run()
/// ```
///
/// Being offline is a normal state: `run()` waits with growing, jittered delays and goes on.
public actor SyncEngine {
  /// What the engine does and has done since it was made; for views and logs.
  public nonisolated let status = SyncStatus()
  let store: any ReplicaStore
  let remote: any Remote
  let environment: SyncEnvironment
  private(set) var session: SyncSession
  var isStreaming = false
  var pushes: PushState
  /// Since it was up to date. A remote that refuses every id is believed no more.
  var idChanges = 0
  /// How often the remote had lost what it had. Who says so again and again would have every device
  /// learn of one id after the other.
  var losses = 0
  /// Whether it wrote under an id that it left.
  var hasWritten = false
  /// How often this replica told of forks.
  var forksTold = 0
  /// What another device told of the id that this one left for it, until that was said.
  var told: ReplicaFork?
  /// The greatest time in the space at the greeting, where that is ahead of the remote's
  /// clock, and that.
  private var newest: Date?
  private var greeted: Date?
  /// The space's position when the log was last trimmed.
  private var trimmedAt: UInt64?
  /// A snapshot that can't be loaded here, and why. It is not fetched again, but another one is.
  var unloadable: (id: String, error: any Error, isRepair: Bool)?
  /// The one that the app takes all the same.
  var acceptedSnapshot: String?
  var fruitless = FruitlessAnswers()
  let turns = SyncTurns()
  /// Of the run that goes on.
  private var signals: SyncSignals?

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    environment.executor.asUnownedSerialExecutor()
  }

  /// An engine for a replica in the app's database, which also tells of local writes. A replica can
  /// have several, each with a remote of its own: what one merges the others push on.
  public init(
    _ replica: Replica, remote: any Remote, environment: SyncEnvironment = SyncEnvironment()
  ) {
    var environment = environment
    environment.localWrites = { replica.localWrites.stream() }
    if environment.snapshotPath == nil {
      environment.snapshotPath = replica.store.access.snapshotPath(of: remote.id)
    }
    let path = replica.store.database.path
    if path.hasPrefix("/") { environment.databasePath = path }
    environment.didMerge = { replica.localWrites.tell() }
    self.init(store: replica.store, remote: remote, environment: environment)
  }

  /// An engine over any store, with its surroundings given.
  package init(store: any ReplicaStore, remote: any Remote, environment: SyncEnvironment) {
    self.store = store
    self.remote = AnsweringRemote(remote)
    self.environment = environment
    session = SyncSession(backoff: environment.backoff)
    pushes = PushState(bytes: environment.pushBytes)
  }

  /// Syncs until the task is cancelled, and returns then. It can be called again. A call while
  /// another, or a ``syncOnce()``, goes on begins when that has ended, or returns as
  /// it is cancelled.
  public func run() async {
    guard case .own = await turns.take(asRun: true) else { return }
    defer { turns.end() }
    begin()
    let signals = SyncSignals()
    self.signals = signals
    let (openings, opener) = AsyncStream.makeStream(of: RemoteCursor?.self)
    let (refusals, refuser) = AsyncStream.makeStream(of: SyncSession.Refusal.self)
    let generation = environment.network.path.generation
    let sources = SignalSources(remote, environment, signals)
    // From now on, and not only once its task begins.
    let localWrites = environment.localWrites()
    await withDiscardingTaskGroup { group in
      group.addTask { await self.followLocalWrites(localWrites, signals) }
      group.addTask { await self.followOtherProcesses(signals) }
      group.addTask { await sources.followNetwork(from: generation) }
      group.addTask { await sources.followRemote(openings) }
      group.addTask { await sources.followRefusals(refusals) }
      await drive(signals, opener, refuser)
      group.cancelAll()
      opener.finish()
      refuser.finish()
      signals.finish()
    }
    self.signals = nil
    isStreaming = false
    status.update { $0.phase = .stopped }
  }

  /// Pushes and pulls until both sides have the same, once, and returns: for commands, background
  /// refresh and a person who pulls to refresh. What is written meanwhile, as fast as the remote
  /// takes it, is left for the next. While ``run()`` goes on, that does it: at once, and not
  /// after its wait.
  ///
  /// - Throws: the first failure: ``RemoteError``, ``MergeError``, ``SnapshotError``,
  ///   ``WireError``, `DatabaseError`, `CancellationError`; while ``run()`` goes on, always a
  ///   ``RemoteError``, as ``status`` has it. Where the remote asked to be left alone for a while,
  ///   that is thrown, and the remote is not asked.
  public func syncOnce() async throws {
    while true {
      switch await turns.take(asRun: false) {
      case .own:
        defer { turns.end() }
        return try await syncAlone()
      case .ofRun:
        switch await turns.ask({ signals?.send(.asked) }) {
        case .synced: return
        case .failed(let error): throw error
        case .ended: continue
        case .cancelled: throw CancellationError()
        }
      case .cancelled: throw CancellationError()
      }
    }
  }

  private func syncAlone() async throws {
    begin()
    var action = session.firstAction
    do {
      while action != .listen {
        try Task.checkCancellation()
        let event = try await perform(action)
        action = session.handle(event)
        if case .wait = action, case .failed(let error, _) = event { throw error }
      }
      try trim()
      try reportListening(leavingSome: .stopped)
      // Only after everything else went well.
      if let refusal = session.refusal { throw refusal.error }
    } catch is CancellationError {
      status.update { $0.phase = .stopped }
      throw CancellationError()
    } catch {
      let failure = RemoteError(of: error, in: action)
      status.update { ($0.phase, $0.lastError) = (.waiting, failure) }
      throw error
    }
  }

  /// With a session of its own.
  private func begin() {
    // An attempt that was cut off has said nothing.
    if let told, session.refusal?.error.replica == told.replica { self.told = nil }
    session = SyncSession(backoff: environment.backoff)
    pushes.bytes = environment.pushBytes
    trimmedAt = nil
    fruitless = FruitlessAnswers()
  }

  // MARK: - The loop

  private func drive(
    _ signals: SyncSignals, _ opener: AsyncStream<RemoteCursor?>.Continuation,
    _ refuser: AsyncStream<SyncSession.Refusal>.Continuation
  ) async {
    var wakes = signals.wakes.makeAsyncIterator()
    var action = session.firstAction
    /// Of the last attempt.
    var failure = RemoteError(.unreachable, "nothing was tried")
    while !Task.isCancelled {
      let event: SyncSession.Event
      do {
        switch action {
        case .listen:
          fruitless.begin()
          if let looks = fruitless.noteAnswered(merged: status.current.pulled) {
            signals.hold(looks: looks)
          }
          try trim()
          try reportListening(leavingSome: .syncing)
          turns.answer(session.refusal.map { .failed($0.error) } ?? .synced)
          if !isStreaming { opener.yield(try store.place(at: remote.id)?.cursor) }
          isStreaming = true
          while true {
            if let signal = signals.take() {
              if !session.isNews(signal) { continue }
              event = self.event(signal)
              break
            }
            if session.leavesSome {
              event = .localWrite
              break
            }
            guard await wakes.next(isolation: self) != nil else { return }
          }
        case .wait(let delay, let pause):
          fruitless.begin()
          reportWaiting()
          let end = await wait(delay, pause, after: failure, signals, &wakes)
          guard let end else { return }
          event = end
        case .greet:
          turns.attend()
          event = try await perform(action)
        default: event = try await perform(action)
        }
      } catch is CancellationError {
        return
      } catch {
        event = .failed(RemoteError(of: error, in: action), jitter: environment.jitter())
      }
      if case .failed(let error, _) = event {
        failure = error
        status.update { $0.lastError = error }
      }
      let refusal = session.refusal
      action = session.handle(event)
      if case .wait = action { turns.answer(.failed(failure)) }
      if let new = session.refusal, new != refusal { refuser.yield(new) }
    }
  }

  private func event(_ signal: SyncSignals.Signal) -> SyncSession.Event {
    switch signal {
    case .localWrite: return .localWrite
    case .remotePosition(let position):
      fruitless.noteAsked(merged: status.current.pulled)
      return .remotePosition(position)
    case .mayAskAgain(let refusal): return .mayAskAgain(refusal)
    case .asked: return .woken(isByNetwork: false)
    case .networkChanged: return .woken(isByNetwork: true)
    case .streamHolds: return .streamHolds
    case .streamEnded(let error):
      isStreaming = false
      return .failed(error, jitter: environment.jitter())
    }
  }

  private func perform(_ action: SyncSession.Action) async throws -> SyncSession.Event {
    switch action {
    case .greet:
      try store.seal()
      try report(.syncing)
      if let told, session.refusal?.error.replica == told.replica { self.told = nil }
      let known = try standing()
      var greeting = try await remote.greet(as: known.id)
      try leaveID(greeting, known)
      if try greeting.isClaimed || ownBeyond(greeting.heads) != nil,
        try await changeID(greeting, conflict: nil)
      {
        greeting = try await remote.greet(as: store.replicaID())
      }
      if let own = try ownBeyond(greeting.heads) {
        throw MergeError(.foreignOwn, own.id, own.sequence + 1)
      }
      if let now = greeting.now { try correctClock(now) }
      (newest, greeted) = (greeting.newest, greeting.now)
      pushes.note(greeting)
      try store.note(greeting.authors, at: remote.id)
      // Another device gave it.
      if !greeting.wantsSnapshot { status.update { $0.snapshotError = nil } }
      return .greeted(
        greeting, knownEpoch: try store.place(at: remote.id)?.epoch,
        comparison: try comparison(after: greeting),
        hasMore: try pushes.firstBeyondBan(in: store) != nil)
    case .resetCursor(let epoch):
      try store.dropForks(at: remote.id, beyond: session.heads)
      try store.resetPlace(RemotePlace(remoteID: remote.id, epoch: epoch, cursor: nil))
      pushes.confirmed.heads = VersionVector()
      return .didReset
    case .push: return try await push()
    case .restamp(let now):
      let now = try RemoteError.checked(clock: now)
      let accepted = session.heads[try store.replicaID()]
      try store.restamp(after: accepted, at: remote.id, nowMilliseconds: now)
      return .didRestamp
    case .pull: return try await pull()
    case .loadSnapshot(let snapshot, let isRepairing):
      try report(.syncing)
      try await load(snapshot, isRepairing: isRepairing)
      if isRepairing {
        try store.save(StateComparison(snapshot: snapshot.id), at: remote.id)
        status.update { ($0.repairs, $0.differingTables) = ($0.repairs + 1, []) }
      }
      return .loadedSnapshot
    case .cutSnapshot(let isBase): return try await cutSnapshot(isBase: isBase)
    case .compareState(let other): return try await compare(with: other)
    case .wait, .listen: preconditionFailure("waiting and listening are the loop's own")
    }
  }

  private func load(_ snapshot: RemoteSnapshot, isRepairing: Bool) async throws {
    // What it holds may have come by another remote since, and then only the cursor moves.
    if let unloadable, unloadable.id == snapshot.id,
      try isRepairing || !store.storedVersionVector().covers(snapshot.heads)
    {
      throw unloadable.error
    }
    let said = [greeted, newest].compactMap(\.?.milliseconds)
    let now = said.filter(HybridTime.believedMilliseconds.contains).max() ?? 0
    do {
      try await snapshots.load(
        snapshot, epoch: session.epoch, nowMilliseconds: now, bans: pushes.bans,
        isRepairing: isRepairing)
    } catch {
      if SnapshotExchange.isLasting(error) {
        unloadable = (snapshot.id, error, isRepairing)
        if isRepairing {
          let tables = status.current.differingTables
          try store.save(StateComparison(tables: tables, snapshot: snapshot.id), at: remote.id)
        }
      }
      throw error
    }
    environment.didMerge()
  }

  var snapshots: SnapshotExchange {
    SnapshotExchange(
      store: store, remote: remote, path: environment.snapshotPath,
      maximumBytes: environment.snapshotBytes, acceptedID: acceptedSnapshot,
      checkRoom: { [environment, id = remote.id] in try environment.checkRoom(for: $0, from: id) })
  }

  /// Forgets what every remote holds: after each greeting, and while much comes and goes.
  private func trim() throws {
    // What it holds under this replica's numbers may be another copy's.
    if session.refusal?.isOfOwn ?? false { return }
    let position = session.announced
    if let trimmedAt, position >= trimmedAt, position - trimmedAt < 1000 { return }
    trimmedAt = position
    try store.trim(heldBy: session.heads, at: remote.id)
  }

  /// This replica's newest, where a remote holds more of it than it made: that knows another copy.
  private func ownBeyond(_ heads: VersionVector) throws -> (id: ReplicaID, sequence: UInt64)? {
    let own = try store.ownHead()
    return heads[own.id] > own.sequence ? own : nil
  }

  func correctClock(_ now: Date) throws {
    let offset = try store.correctClock(nowMilliseconds: RemoteError.checked(clock: now))
    status.update { $0.clockOffset = .milliseconds(offset) }
  }

  private func pull() async throws -> SyncSession.Event {
    let place = try store.place(at: remote.id)
    let own = try store.replicaID()
    do {
      var page = try await remote.pull(after: place?.cursor, excluding: own)
      guard !page.hasMore || page.cursor != place?.cursor else {
        // The same page would come again and again.
        throw RemoteError(.unexpectedAnswer, "the remote says that there is more, where it was")
      }
      try CrashPoint.reach(.pullAfterReceive)
      // What the space took is no peer's doing.
      if let now = page.now, let newest,
        HybridTime.believedMilliseconds.contains(newest.milliseconds)
      {
        page.now = max(now, newest)
      }
      var next = RemotePlace(remoteID: remote.id, epoch: session.epoch, cursor: page.cursor)
      next.excluded = own
      try environment.checkRoom(for: page.operations.byteCount, from: remote.id)
      let merged = try await merge(page, from: next)
      // What differed is known as a fork by now.
      if pushes.confirmed.epoch == session.epoch { pushes.noteConfirmed(page.operations.heads) }
      status.update { $0.lastError = session.refusal?.error ?? page.withheld }
      try checkFruit(of: page, merged: merged)
      return .pulled(
        page.operations.heads, hasMore: page.hasMore, withheld: page.withheld,
        jitter: environment.jitter())
    } catch let error as RemoteError {
      return .failed(error, jitter: environment.jitter())
    }
  }

  /// Merges a page without keeping others from writing for long: another process looks for the
  /// write lock now and then, and finds it free only while nobody has it.
  ///
  /// - Returns: how many operations were new.
  private func merge(_ page: PulledPage, from place: RemotePlace) async throws -> Int {
    var rest = page
    var new = 0
    while true {
      let isOver = environment.mergeDeadline()
      let (summary, merged) = try store.merge(rest, from: place, until: isOver)
      new += summary.mergedOperations
      status.update { $0.pulled += summary.mergedOperations }
      if summary.mergedOperations > 0 { environment.didMerge() }
      rest.operations.removeFirst(merged)
      if rest.operations.isEmpty { return new }
      try await environment.clock.sleep(for: environment.mergePause)
    }
  }

  /// - Parameter phase: where there is more to push.
  private func reportListening(leavingSome phase: SyncStatus.Moment.Phase) throws {
    idChanges = 0
    guard let refusal = session.refusal else {
      return try report(session.leavesSome ? phase : .upToDate)
    }
    status.update { $0.lastError = refusal.error }
    try report(.waiting)
  }

  /// Also where a database that is closed counts nothing: what fails here is waited for
  /// all the same.
  private func reportWaiting() {
    do { try report(.waiting) } catch { status.update { $0.phase = .waiting } }
  }

  /// Before the remote has answered, of this replica's own: what it holds of others is not known.
  func countUnpushed() throws -> Int {
    guard session.hasGreeted else {
      let (own, accepted) = (try store.ownHead().sequence, try store.accepted(by: remote.id))
      return Int(max(own, accepted) - accepted)
    }
    return try store.versionVector().sequences.reduce(0) { sum, entry in
      sum + Int(max(entry.value, session.heads[entry.key]) - session.heads[entry.key])
    }
  }

  func report(_ phase: SyncStatus.Moment.Phase) throws {
    let unpushed = try countUnpushed()
    let counts = try store.counts()
    status.update {
      $0.phase = phase
      $0.unpushed = unpushed
      $0.quarantined = counts.quarantined
      $0.largeRows = counts.largeRows
      $0.skippedTriggers = counts.skippedTriggers
      $0.pending = counts.pending
      $0.forks = counts.forks
      guard phase == .upToDate else { return }
      $0.lastError = nil
      $0.lastUpToDate = Date(timeIntervalSince1970: environment.wallClock() / .seconds(1))
    }
  }
}
