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
  /// `nil` where no job hands anything over.
  let transfers: (any TransferSystem)?
  var ofRun = RunState()
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
    self.transfers = transfers
    var handlers = JobHandlers()
    register(&handlers)
    self.handlers = handlers
    surrounding = queue.environment.observers.compactMap { $0 as? any JobSurrounding }
  }

  /// Works until the task is cancelled, and returns then, with what ran free for the next run at no
  /// cost in attempts. It can be called again.
  ///
  /// - Parameter standby: waits while another worker works on the database, and takes over when
  ///   that ends or its process dies: within milliseconds on Linux, within a second elsewhere.
  /// - Throws: ``JobQueueError`` `.workerRunning`, also while a run of this worker that was
  ///   cancelled still waits for its handlers, unless it stands by; `.notInstalled`, and
  ///   `.fileFailed` where the lock file cannot be used; the `DatabaseError` that ended the work,
  ///   and what an observer or a trigger of the app's threw where no job was to end. Nothing is
  ///   lost then: the next run frees what this one had.
  public func run(standby: Bool = false) async throws {
    let lock: FileLock
    if standby {
      guard let free = try await awaitLock() else { return }
      lock = free
    } else {
      lock = try takeLock()
    }
    try await work(lock, patience: nil)
  }

  /// Works until nothing can run: every job is done, cancelled, failed, parked, or waits for a
  /// time, a gate, the network, room, the end of a pause or a transfer that outlives the process.
  /// For commands and tests.
  ///
  /// - Parameter patience: waits for retries and gates whose time comes within this, counted from
  ///   the call, as often as that may be; never for the network. By default for none.
  /// - Returns: the jobs that wait, each with what it waits for: none of what failed or is parked.
  /// - Throws: as ``run(standby:)``; `CancellationError`.
  @discardableResult
  public func drain(waiting patience: Duration = .zero) async throws -> [JobWait] {
    try await work(takeLock(), patience: queue.environment.countdown(patience))
    try Task.checkCancellation()
    return try await persistently { try queue.waits(path.path) }
  }

  /// - Parameter patience: what is left of it; what becomes ready later is not waited for. `nil` to
  ///   wait for ever.
  private func work(_ lock: FileLock, patience: (@Sendable () -> Duration)?) async throws {
    defer { withExtendedLifetime(lock) {} }
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    ofRun = RunState(news: news)
    queue.roomless.withLock { $0 = [:] }
    let arrivals = queue.arrivals.stream()
    // Before the first look: what changes behind it is news.
    let generation = path.path.generation
    await withDiscardingTaskGroup { group in
      do {
        // Waits, as all that follows does, while the app has suspended the database.
        let events = queue.events(.touched)
        ofRun.seen = try await dataVersion()
        group.addTask { for await _ in arrivals { news.yield() } }
        if let events { group.addTask { await self.followOtherProcesses(by: events) } }
        group.addTask { await self.lookNowAndThen(isTold: events != nil) }
        group.addTask { await self.followPath(from: generation) }
        let left = queue.leftBehind.withLock { $0 }
        ofRun.fence = try await write {
          try $0.recover(kinds: handlers.handled.kinds, leftBehind: left, at: queue.environment.now)
        }
        queue.leftBehind.withLock { $0 = [:] }
        if let transfers {
          let commits = queue.arrivals.stream()
          try await compareTransfers()
          group.addTask { await self.followWithdrawals(commits) }
          group.addTask { await transfers.run { await self.take($0) } }
        }
        try await loop(&group, stream, patience)
      } catch is CancellationError where Task.isCancelled {
        // No failure, of which those that end now would not be stored.
      } catch {
        ofRun.failure = ofRun.failure ?? error
      }
      group.cancelAll()
    }
    ofRun.news = nil
    if ofRun.failure is DatabaseError { storeLeft() }
    if let failure = ofRun.failure, !(failure is CancellationError && Task.isCancelled) {
      throw failure
    }
  }

  private func takeLock() throws -> FileLock {
    if let lock = try usingLock({ try FileLock.attempt(queue.lockPath) }) { return lock }
    throw JobQueueError(
      .workerRunning, "another worker works on this database; one does at a time")
  }

  /// - Returns: `nil` when the task is cancelled first.
  private func awaitLock() async throws -> FileLock? {
    let environment = queue.environment
    // Kept open: each closing would be an event.
    var lock = try usingLock { try FileLock.opened(queue.lockPath) }
    let events = queue.events(.closed)
    let interval = events == nil ? environment.pollInterval : environment.clockInterval
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    return try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      if let events { group.addTask { for await _ in events { news.yield() } } }
      group.addTask {
        // The sleep throws when the task is cancelled, and then this ends.
        while (try? await environment.sleep(for: interval)) != nil { news.yield() }
      }
      var iterator = stream.makeAsyncIterator()
      repeat {
        // A dying process closes the file a moment before the kernel lets the lock go.
        for pause in [0, 1, 4, 16, 64] {
          // Cancelled, the loop ends.
          if pause > 0 { try? await environment.clock.sleep(for: .milliseconds(pause)) }
          // Somebody removed the file: who comes next takes the lock of another.
          if !lock.isOf(queue.lockPath) {
            lock = try usingLock { try FileLock.opened(queue.lockPath) }
          }
          if try usingLock({ try lock.attempt() }), lock.isOf(queue.lockPath) { return lock }
        }
      } while await iterator.next(isolation: self) != nil && !Task.isCancelled
      return nil
    }
  }

  private func usingLock<T>(_ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      throw JobQueueError(
        .fileFailed, "the worker's lock file cannot be used", underlyingError: error)
    }
  }

  /// Ends the run with an error that is not a handler's.
  func fail(_ error: any Error) {
    ofRun.failure = ofRun.failure ?? error
    ofRun.news?.yield()
  }

  // MARK: - The loop

  private func loop(
    _ group: inout DiscardingTaskGroup, _ stream: AsyncStream<Void>,
    _ patience: (@Sendable () -> Duration)?
  ) async throws {
    ends.open(ofRun.news)
    defer { storeApart(ends.close(), &group) }
    var iterator = stream.makeAsyncIterator()
    while !Task.isCancelled {
      if let failure = ofRun.failure { throw failure }
      endOverdue()
      try await restoreBudgets()
      // As it is before the look for jobs: an answer that comes during it makes one ready.
      let isCarrying =
        transfers?.endsWithProcess ?? false
        && ofRun.handedOver.keys.contains { ofRun.refusedAnswers[$0] == nil }
      for claim in try await turn(&group) {
        let attempt = Attempt(claim, queue.environment, isObserved: queue.events != nil)
        ofRun.attempts[claim.id] = attempt
        group.addTask { await self.attempt(attempt) }
      }
      // Also of those that were claimed just now, while the network changed.
      endUnmet()
      if let patience, !isCarrying, ofRun.attempts.count == ofRun.refused.count,
        try await isIdle(patience)
      {
        if let refusal = ofRun.refused.min(by: { $0.key < $1.key }) { throw refusal.value }
        if let refusal = ofRun.refusedAnswers.min(by: { $0.key < $1.key }) { throw refusal.value }
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
    if error is CancellationError, ofRun.failure == nil {
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
        try await transaction { try store([end], $0) }
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
    let reached = try await read { try $0.nextReached(at: ofRun.lookedAt, isMet) }
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
      recall(try await read { try $0.running() })
      return []
    }
    let look: Look
    do {
      // A claim that is lost with the power costs nothing: the job was not begun.
      look = try await transaction(isDurable: !ended.isEmpty) { rows in
        // Not the time of before a wait for the database, during which others write later ones.
        if isSetBack { try rows.mendTimes(at: environment.now) }
        try store(ended, rows)
        return try self.look(rows, free, without: ended, at: environment.now)
      }
    } catch let refusal as OfApp {
      if ended.isEmpty { throw refusal.error }
      try await storeSingly(ended, &group)
      // What could not be claimed with them is claimed alone.
      ofRun.news?.yield()
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
    recall(look.standing)
    return look.claimed.claims
  }

  private typealias Look = (
    claimed: Claimed, roomless: [JobID: Int], standing: [JobID: Int], at: WallTime
  )

  private func look(
    _ rows: JobRows, _ free: Int, without ended: [EndedAttempt], at now: WallTime
  ) throws -> Look {
    let outset = try rows.outset(ofRun.fence)
    var going = ofRun.attempts
    for end in ended { going[end.claim.id] = nil }
    var running = JobsRunning()
    for attempt in going.values { running.add(attempt.claim.lane, attempt.claim.service) }
    let standing = going.isEmpty ? [:] : try rows.running()
    var roomless = queue.roomless.withLock { $0 }
    for end in ended { roomless[end.claim.id] = end.end.full?.count }
    let room = try rows.room(roomless, going: Set(going.keys))
    let query = ClaimQuery(
      kinds: handlers.handled, running: running, count: free, budget: queue.environment.retryBudget,
      now: now, outset: outset, isMet: isMet, room: room)
    let claimed = try rows.claim(query)
    for held in claimed.held where ofRun.held[held.head.job] != held.hold { rows.observe(held) }
    // A lane that is used once leaves a row behind. Not with each look: there may be many.
    let isIdle = going.isEmpty && claimed.claims.isEmpty
    if isIdle || now >= sweepAt { try rows.dropFullBuckets(at: now) }
    return (claimed, room.refusedAt, standing, now)
  }

  /// After the look's commit.
  private func note(_ claimed: Claimed, at now: WallTime) {
    (ofRun.nextAt, ofRun.pacedAt) = (claimed.until, claimed.paced)
    // What observers were told is not told again, until something else is true.
    ofRun.held = Dictionary(uniqueKeysWithValues: claimed.held.map { ($0.head.job, $0.hold) })
    if now >= sweepAt { sweepAt = WallTime(notBefore: now.duration + .seconds(60)) }
  }

  /// Cancels the attempts whose job was removed, cancelled, or is somebody else's.
  private func recall(_ standing: [JobID: Int]) {
    for (job, attempt) in ofRun.attempts.sorted(by: { $0.key < $1.key })
    where standing[job] != attempt.claim.start { cancel(job, .recalled) }
  }

  /// Until something happened, or a time has come: the next job's, or that of the budgets.
  private func wait(_ iterator: inout AsyncStream<Void>.Iterator) async {
    let (environment, news) = (queue.environment, ofRun.news)
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
        if !Planted.isActive(.wakeLost) { news?.yield() }
      }
      _ = await iterator.next(isolation: self)
      group.cancelAll()
    }
  }
}
