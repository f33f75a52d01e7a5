import GRDB
@_spi(Rehearsal) import TernCore
import TernDatabase

/// Runs the jobs of a queue, several at a time, each with the handler for its kind.
///
/// ```swift
/// let worker = JobWorker(jobs) {
///   $0.handle(ScanShelf.self) { job, context in try await scanner.scan(job, context) }
/// }
/// async let working: Void = worker.run()
/// try await working  // without it the run is cancelled at the end of this scope
/// ```
///
/// One worker works on a database at a time, whatever the process; a kernel lock sees to it, so a
/// dead one is not waited for. Jobs are started by priority, and among equals in the order in which
/// they became ready.
public actor JobWorker {
  let queue: JobQueue
  let handlers: JobHandlers
  /// The observers that surround handlers, too.
  let surrounding: [any JobSurrounding]
  private let concurrency: Int
  let path: any NetworkPathSource
  let signals = RunSignals()
  let database: WorkerDatabase
  let credentials: CredentialDesk
  /// `nil` where no job hands anything over.
  let transfers: TransferDesk?
  var ofRun: RunState
  /// What the loop is to store.
  let ends = AttemptEnds()
  /// The latest time seen, in any run, to notice a clock that is set back.
  var latest = WallTime(milliseconds: .min)
  /// When buckets that are full are dropped next, in whichever run, if the worker is
  /// not idle before.
  private var sweepAt = WallTime(milliseconds: .min)

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    queue.environment.executor.asUnownedSerialExecutor()
  }

  /// A worker without uploads, for which module `Tern`, which apps import, adds an initialiser.
  package init(
    _ queue: JobQueue, concurrency: Int = 4, path: any NetworkPathSource,
    _ register: (inout JobHandlers) -> Void
  ) {
    self.init(queue, concurrency: concurrency, path: path, transferringBy: nil, register)
  }

  /// - Parameter transfers: what goes on with what jobs hand over.
  package init(
    _ queue: JobQueue, concurrency: Int, path: any NetworkPathSource,
    transferringBy transfers: (any TransferSystem)?, _ register: (inout JobHandlers) -> Void
  ) {
    precondition(concurrency > 0, "a worker runs at least one job at a time")
    self.queue = queue
    self.concurrency = concurrency
    self.path = path
    var handlers = JobHandlers()
    register(&handlers)
    self.handlers = handlers
    database = WorkerDatabase(queue: queue, signals: signals)
    credentials = CredentialDesk(handlers, database)
    let database = database
    self.transfers = transfers.map { TransferDesk($0, database, path) }
    ofRun = RunState(queue.environment)
    surrounding = queue.environment.observers.compactMap { $0 as? any JobSurrounding }
  }

  /// Works until the task is cancelled, and returns then, with what ran free for the next run at no
  /// cost in attempts. It can be called again.
  ///
  /// - Parameters:
  ///   - standby: waits while another worker works on the database, and takes over when that ends
  ///     or its process dies: within milliseconds on Linux, within a second elsewhere.
  ///   - onStart: is called once this worker has the database to itself, before it starts a job.
  /// - Throws: ``JobQueueError`` `.workerRunning`, also while a run of this worker that was
  ///   cancelled still waits for its handlers, unless it stands by; `.notInstalled`, and
  ///   `.fileFailed` where the lock file cannot be used; the `DatabaseError` that ended the work,
  ///   and what an observer or a trigger of the app's threw where no job was to end. Nothing is
  ///   lost then: the next run frees what this one had.
  public func run(
    standby: Bool = false, onStart: @Sendable () -> Void = {}
  ) async throws {
    let lock: FileLock
    if standby {
      guard let free = try await WorkerLock(queue: queue).wait() else { return }
      lock = free
    } else {
      lock = try WorkerLock(queue: queue).take()
    }
    onStart()
    try await work(lock, patience: nil)
  }

  /// Works until nothing can run: every job is done, cancelled, failed, parked, or waits for a
  /// time, a gate, the network, room, the end of a pause or a transfer that outlives the process.
  /// For commands and tests.
  ///
  /// - Parameter patience: waits for retries and gates whose time comes within this, counted from
  ///   the call, as often as that may be; never for the network. By default for none.
  /// - Returns: the jobs that wait, each with what it waits for: none of what failed or is parked.
  /// - Throws: as ``run(standby:onStart:)``; `CancellationError`.
  @discardableResult
  public func drain(waiting patience: Duration = .zero) async throws -> [JobWait] {
    try await work(WorkerLock(queue: queue).take(), patience: queue.environment.countdown(patience))
    try Task.checkCancellation()
    return try await database.persistently { try queue.waits(path.path) }
  }

  /// - Parameter patience: what is left of it; what becomes ready later is not waited for. `nil` to
  ///   wait for ever.
  private func work(_ lock: FileLock, patience: (@Sendable () -> Duration)?) async throws {
    defer { withExtendedLifetime(lock) {} }
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    signals.begin(news)
    ofRun = RunState(queue.environment)
    await transfers?.begin()
    queue.roomless.withLock { $0 = [:] }
    let arrivals = queue.arrivals.stream()
    // Before the first look: what changes behind it is news.
    let generation = path.path.generation
    await withDiscardingTaskGroup { group in
      do {
        // Waits, as all that follows does, while the app has suspended the database.
        let events = queue.events(.touched)
        ofRun.seen = try await database.version()
        group.addTask { for await _ in arrivals { news.yield() } }
        if let events { group.addTask { await self.followOtherProcesses(by: events) } }
        group.addTask { await self.lookNowAndThen(isTold: events != nil) }
        group.addTask { await self.followPath(from: generation) }
        let left = queue.leftBehind.withLock { $0 }
        ofRun.fence = try await database.write {
          try $0.recover(kinds: handlers.handled.kinds, leftBehind: left, at: queue.environment.now)
        }
        queue.leftBehind.withLock { $0 = [:] }
        if let transfers {
          let commits = queue.arrivals.stream()
          try await transfers.compare()
          group.addTask { await transfers.followWithdrawals(commits) }
          group.addTask { await transfers.run() }
        }
        try await loop(&group, stream, patience)
      } catch is CancellationError where Task.isCancelled {
        // No failure, of which those that end now would not be stored.
      } catch {
        signals.fail(error)
      }
      group.cancelAll()
    }
    signals.end()
    if signals.failure is DatabaseError { storeLeft() }
    if let failure = signals.failure, !(failure is CancellationError && Task.isCancelled) {
      throw failure
    }
  }

  // MARK: - The loop

  private func loop(
    _ group: inout DiscardingTaskGroup, _ stream: AsyncStream<Void>,
    _ patience: (@Sendable () -> Duration)?
  ) async throws {
    ends.open(signals)
    defer { storeApart(ends.close(), &group) }
    var iterator = stream.makeAsyncIterator()
    while !Task.isCancelled {
      if let failure = signals.failure { throw failure }
      for attempt in ofRun.attempts.endOverdue() {
        _ = ends.add(AttemptRun(attempt: attempt, worker: self).fenced())
      }
      try await restoreBudgets()
      // As it is before the look for jobs: an answer that comes during it makes one ready.
      let isCarrying = await transfers?.isCarrying ?? false
      for claim in try await turn(&group) {
        let attempt = ofRun.attempts.begin(claim)
        group.addTask { await self.attempt(attempt) }
      }
      // Also of those that were claimed just now, while the network changed.
      ofRun.attempts.endUnmet(isMet)
      if let patience, !isCarrying, ofRun.attempts.count == ofRun.refused.count,
        try await isIdle(patience)
      {
        if let refusal = ofRun.refused.min(by: { $0.key < $1.key }) { throw refusal.value }
        if let refusal = await transfers?.refusal { throw refusal }
        return
      }
      arm(&group)
      await wait(&iterator)
    }
  }

  /// Each end in a transaction of its own, beside the loop.
  private func storeApart(_ ended: [EndedAttempt], _ group: inout DiscardingTaskGroup) {
    for end in ended { group.addTask { await self.finish(end) } }
  }

  /// What is left of ends when the loop ends by an error. Where it was told to end as it waited for
  /// the database, they are stored as those are that come later.
  private func handOn(
    _ ended: [EndedAttempt], after error: any Error, _ group: inout DiscardingTaskGroup
  ) {
    if error is CancellationError, signals.failure == nil {
      storeApart(ended, &group)
    } else {
      leave(ended)
    }
  }

  /// Each end in a transaction of its own, without claims: what the app refuses to one is no other
  /// job's matter. One that it refuses again goes on beside the loop.
  private func storeSingly(_ ended: [EndedAttempt], _ group: inout DiscardingTaskGroup) async throws
  {
    for (index, end) in ended.enumerated() {
      do {
        try await database.transaction { try store([end], $0) }
      } catch let refusal as OfApp {
        group.addTask { await self.finish(end, refusal: refusal) }
        continue
      } catch {
        handOn(Array(ended[index...]), after: error, &group)
        throw error
      }
      do {
        try await stored([end])
      } catch {
        handOn(Array(ended[(index + 1)...]), after: error, &group)
        throw error
      }
    }
  }

  private func isIdle(_ patience: @Sendable () -> Duration) async throws -> Bool {
    let environment = queue.environment
    // What may run since then has been looked for: only a pace or a budget holds it.
    let reached = try await database.read { try $0.nextReached(at: ofRun.lookedAt, isMet) }
    guard let next = [reached, ofRun.pacedAt].compactMap(\.self).min() else { return true }
    return next.duration - environment.wallClock() > patience()
  }

  func isMet(_ needs: String) -> Bool {
    needs.isEmpty || JobRequirement(stored: needs).isMet(by: path)
  }

  /// Stores what has ended and claims as many jobs as may run now, in one transaction: with a full
  /// worker that is one wait for the disk for several jobs.
  private func turn(_ group: inout DiscardingTaskGroup) async throws -> [Claim] {
    let environment = queue.environment
    let isStopping = Task.isCancelled
    let ended = ends.take().map { isStopping ? $0 : $0.unstopped }
    let free = concurrency - ofRun.attempts.count + ended.count
    let now = environment.now
    (ofRun.nextAt, ofRun.pacedAt, ofRun.lookedAt) = (nil, nil, now)
    let isSetBack = now < latest
    if isSetBack { sweepAt = now }
    let generation = path.path.generation
    if free == 0, !isSetBack, generation == ofRun.seenPath {
      latest = now
      ofRun.attempts.recall(try await database.read { try $0.jobs.starts() })
      return []
    }
    let look: Look
    do {
      // A claim that is lost with the power costs nothing: the job was not begun.
      look = try await database.transaction(isDurable: !ended.isEmpty) { rows in
        // Not the time of before a wait for the database, during which others write later ones.
        if isSetBack { try rows.mendTimes(at: environment.now) }
        try store(ended, rows)
        return try self.look(rows, free, without: ended, at: environment.now)
      }
    } catch let refusal as OfApp {
      if ended.isEmpty { throw refusal.error }
      try await storeSingly(ended, &group)
      // What could not be claimed with them is claimed alone.
      signals.wake()
      return []
    } catch {
      handOn(ended, after: error, &group)
      throw error
    }
    // Not before the times are mended.
    (latest, ofRun.seenPath, ofRun.lookedAt) = (now, generation, look.at)
    note(look.claimed, at: now)
    queue.roomless.withLock { $0 = look.roomless }
    do {
      try await stored(ended)
      if !look.claimed.claims.isEmpty { try CrashPoint.reach(.jobAfterClaim) }
    } catch {
      // They are claimed, and nobody begins them; no process died.
      queue.leftBehind.withLock { left in
        for claim in look.claimed.claims { left[claim.id] = claim.start }
      }
      throw error
    }
    ofRun.attempts.recall(look.standing)
    return look.claimed.claims
  }

  private typealias Look = (
    claimed: Claimed, roomless: [JobID: Int], standing: [JobID: Int], at: WallTime
  )

  private func look(
    _ rows: JobTransaction, _ free: Int, without ended: [EndedAttempt], at now: WallTime
  ) throws -> Look {
    let outset = try rows.outset(ofRun.fence)
    var going = ofRun.attempts
    for end in ended { _ = going.end(end.claim) }
    var running = JobsRunning()
    for claim in going.claims { running.add(claim.lane, claim.service) }
    let standing = going.count == 0 ? [:] : try rows.jobs.starts()
    var roomless = queue.roomless.withLock { $0 }
    for end in ended { roomless[end.claim.id] = end.end.full?.count }
    let room = try rows.room(roomless, going: Set(going.claims.map(\.id)))
    let query = ClaimQuery(
      kinds: handlers.handled, running: running, count: free, budget: queue.environment.retryBudget,
      now: now, outset: outset, isMet: isMet, room: room)
    var search = try ClaimSearch(rows, query)
    let claimed = try search.claim()
    for held in claimed.held where ofRun.held[held.head.job] != held.hold { rows.observe(held) }
    // A lane that is used once leaves a row behind. Not with each look: there may be many.
    let isIdle = going.count == 0 && claimed.claims.isEmpty
    if isIdle || now >= sweepAt { try rows.buckets.dropFull(at: now) }
    return (claimed, room.refusedAt, standing, now)
  }

  /// After the look's commit.
  private func note(_ claimed: Claimed, at now: WallTime) {
    (ofRun.nextAt, ofRun.pacedAt) = (claimed.until, claimed.paced)
    // What observers were told is not told again, until something else is true.
    ofRun.held = Dictionary(uniqueKeysWithValues: claimed.held.map { ($0.head.job, $0.hold) })
    if now >= sweepAt { sweepAt = WallTime(notBefore: now.duration + .seconds(60)) }
  }

  /// Has the loop look again when the first attempt's time is over. Not by its wait, which every
  /// end of an attempt interrupts: a sleep would begin with each. An alarm that is no longer the
  /// first rings for nothing.
  private func arm(_ group: inout DiscardingTaskGroup) {
    guard let delay = ofRun.attempts.left else { return }
    if let set = ofRun.alarm?(), set > .zero, set <= delay { return }
    let (environment, signals) = (queue.environment, signals)
    ofRun.alarm = environment.countdown(delay)
    group.addTask {
      // Cancelled as the run ends.
      guard (try? await environment.sleep(for: max(delay, .zero))) != nil else { return }
      signals.wake()
    }
  }

  /// Until something happened, or a time has come: the next job's, or that of the budgets.
  private func wait(_ iterator: inout AsyncStream<Void>.Iterator) async {
    let (environment, signals) = (queue.environment, signals)
    guard let time = [ofRun.nextAt, ofRun.restoreAt].compactMap(\.self).min() else {
      _ = await iterator.next(isolation: self)
      return
    }
    await withDiscardingTaskGroup { group in
      let delay = time.duration - environment.wallClock()
      group.addTask {
        // Cancelled when something else happened first. A clock may not know a wait of centuries.
        let nap = min(max(delay, .zero), .seconds(86_400))
        guard (try? await environment.clock.sleep(for: nap)) != nil else { return }
        if !Planted.isActive(.wakeLost) { signals.wake() }
      }
      _ = await iterator.next(isolation: self)
      group.cancelAll()
    }
  }
}
