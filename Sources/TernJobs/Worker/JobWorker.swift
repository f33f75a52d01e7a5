import GRDB
import TernCore
import TernDatabase

/// Runs the jobs of a queue, several at a time, each with the handler for its kind.
///
/// ```swift
/// let worker = JobWorker(jobs) {
///   $0.handle(ScanShelf.self) { job, context in try await scanner.scan(job, context) }
/// }
/// async let working: Void = worker.run()
/// ```
///
/// One worker works on a database at a time, whatever the process; a kernel lock sees to it, so a
/// dead one is not waited for. Jobs are started by priority, and among equals in the order in which
/// they became ready.
public actor JobWorker {
  let queue: JobQueue
  let handlers: JobHandlers
  private let concurrency: Int
  let path: any NetworkPathSource
  private var running = 0
  /// Tell the attempts that run to end, because their job is not theirs any more.
  private var recalls: [JobID: (start: Int, tell: AsyncStream<Void>.Continuation)] = [:]
  /// Why the app refuses to have the end of a job stored, also as a failure: of jobs that count as
  /// running until it does.
  private var refused: [JobID: any Error] = [:]
  /// What the database refused; nothing further is written then.
  private(set) var failure: (any Error)?
  private(set) var news: AsyncStream<Void>.Continuation?
  /// The latest time seen, to notice a clock that is set back.
  var latest = WallTime(milliseconds: .min)
  private(set) var nextAt: WallTime?
  /// The database's version as the worker looked last.
  var seen: Int64?

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    queue.environment.executor.asUnownedSerialExecutor()
  }

  /// - Parameters:
  ///   - concurrency: how many jobs run at the same time.
  ///   - path: what is known of the network: whether a broken exchange counts, and when to try
  ///     again.
  ///   - register: names the handlers.
  public init(
    _ queue: JobQueue, concurrency: Int = 4, path: any NetworkPathSource = UnknownPathSource(),
    _ register: (inout JobHandlers) -> Void
  ) {
    precondition(concurrency > 0, "a worker runs at least one job at a time")
    self.queue = queue
    self.concurrency = concurrency
    self.path = path
    var handlers = JobHandlers()
    register(&handlers)
    self.handlers = handlers
  }

  /// Works until the task is cancelled, and returns then, with what ran free for the next run at no
  /// cost in attempts. It can be called again.
  ///
  /// - Parameter standby: waits while another worker works on the database, and takes over, within
  ///   milliseconds on Linux, when that ends or its process dies.
  /// - Throws: ``JobQueueError`` `.workerRunning` and `.notInstalled`, and the `DatabaseError` that
  ///   ended the work. Nothing is lost then: the next run frees what this one had.
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

  /// Works until nothing can run: every job is done, failed, parked, or waits for a time, a gate or
  /// the network. For commands and tests.
  ///
  /// - Parameter patience: waits for retries and gates whose time comes within this, counted from
  ///   the call, as often as that may be; never for the network. By default for none.
  /// - Throws: as ``run()``; `CancellationError`.
  public func drain(waiting patience: Duration = .zero) async throws {
    try await work(takeLock(), patience: queue.environment.countdown(patience))
    try Task.checkCancellation()
  }

  /// - Parameter patience: what is left of it; what becomes ready later is not waited for. `nil` to
  ///   wait for ever.
  private func work(_ lock: FileLock, patience: (@Sendable () -> Duration)?) async throws {
    defer { withExtendedLifetime(lock) {} }
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (self.news, failure, nextAt) = (news, nil, nil)
    let arrivals = queue.arrivals.stream()
    await withDiscardingTaskGroup { group in
      do {
        // Waits, as all that follows does, while the app has suspended the database.
        let events = queue.events(.touched)
        seen = try await dataVersion()
        group.addTask { for await _ in arrivals { news.yield() } }
        if let events { group.addTask { await self.followOtherProcesses(by: events) } }
        group.addTask { await self.lookNowAndThen(isTold: events != nil) }
        group.addTask { await self.followPath() }
        let left = queue.leftBehind.withLock { $0 }
        try await write {
          try $0.recover(kinds: handlers.kinds, leftBehind: left, at: queue.environment.now)
        }
        queue.leftBehind.withLock { $0 = [:] }
        try await loop(&group, stream, patience)
      } catch {
        failure = failure ?? error
      }
      group.cancelAll()
    }
    self.news = nil
    if let failure, !(failure is CancellationError && Task.isCancelled) { throw failure }
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
    let lock = try usingLock { try FileLock.opened(queue.lockPath) }
    let events = queue.events(.closed)
    let interval = events == nil ? environment.pollInterval : environment.clockInterval
    let (stream, news) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    return try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      if let events { group.addTask { for await _ in events { news.yield() } } }
      group.addTask {
        // The sleep throws when the task is cancelled, and then this ends.
        while (try? await environment.clock.sleep(for: interval)) != nil { news.yield() }
      }
      var iterator = stream.makeAsyncIterator()
      repeat {
        // A dying process closes the file a moment before the kernel lets the lock go.
        for pause in [0, 1, 4, 16, 64] {
          // Cancelled, the loop ends.
          if pause > 0 { try? await environment.clock.sleep(for: .milliseconds(pause)) }
          if try usingLock({ try lock.attempt() }) { return lock }
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
        .fileFailed, "the worker's lock file can not be used", underlyingError: error)
    }
  }

  /// Ends the run with an error that is not a handler's.
  func fail(_ error: any Error) {
    failure = failure ?? error
    news?.yield()
  }

  // MARK: - The loop

  private func loop(
    _ group: inout DiscardingTaskGroup, _ stream: AsyncStream<Void>,
    _ patience: (@Sendable () -> Duration)?
  ) async throws {
    var iterator = stream.makeAsyncIterator()
    while !Task.isCancelled {
      if let failure { throw failure }
      for claim in try await claims() {
        running += 1
        let (recalled, tell) = AsyncStream.makeStream(
          of: Void.self, bufferingPolicy: .bufferingNewest(1))
        recalls[claim.id] = (claim.start, tell)
        group.addTask { await self.attempt(claim, recalled) }
      }
      if let patience, running == refused.count, try await isIdle(patience) {
        guard let refusal = refused.min(by: { $0.key < $1.key }) else { return }
        throw refusal.value
      }
      await wait(&iterator)
    }
  }

  private func isIdle(_ patience: @Sendable () -> Duration) async throws -> Bool {
    let environment = queue.environment
    guard let next = try await read({ try $0.nextReached(at: environment.now) }) else {
      return true
    }
    return next.duration - environment.wallClock() > patience()
  }

  /// As many as may run now.
  private func claims() async throws -> [Claim] {
    let environment = queue.environment
    let free = concurrency - running
    nextAt = nil
    let now = environment.now
    let isSetBack = now < latest
    latest = now
    if free == 0, !isSetBack {
      recall(try await read { try $0.running() })
      return []
    }
    let (claims, until, standing) = try await write { rows -> Look in
      if isSetBack { try rows.mendTimes(at: now) }
      let standing = recalls.isEmpty ? [:] : try rows.running()
      var claims: [Claim] = []
      while claims.count < free {
        switch try rows.claim(handlers, at: now) {
        case .job(let claim): claims.append(claim)
        case .nothing(let until): return (claims, until, standing)
        }
      }
      return (claims, nil, standing)
    }
    nextAt = until
    recall(standing)
    if !claims.isEmpty { try CrashPoint.reach(.jobAfterClaim) }
    return claims
  }

  private typealias Look = (claims: [Claim], until: WallTime?, standing: [JobID: Int])

  /// Cancels the attempts whose job was removed, cancelled, or is somebody else's.
  private func recall(_ standing: [JobID: Int]) {
    for (job, attempt) in recalls where standing[job] != attempt.start { attempt.tell.yield() }
  }

  /// Until something happened, or the next job's time has come.
  private func wait(_ iterator: inout AsyncStream<Void>.Iterator) async {
    let (environment, news) = (queue.environment, news)
    await withDiscardingTaskGroup { group in
      if let nextAt {
        let delay = nextAt.duration - environment.wallClock()
        group.addTask {
          // Cancelled when something else happened first. A clock may not know a wait of centuries.
          let nap = min(max(delay, .zero), .seconds(86_400))
          guard (try? await environment.clock.sleep(for: nap)) != nil else { return }
          news?.yield()
        }
      }
      _ = await iterator.next(isolation: self)
      group.cancelAll()
    }
  }

  // MARK: - One attempt

  /// Off the actor, so that a handler blocks nobody.
  private nonisolated func attempt(_ claim: Claim, _ recalled: AsyncStream<Void>) async {
    let before = path.path
    let context = JobContext(claim: claim, worker: self)
    let end: AttemptEnd
    do {
      try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
          try await claim.work(context)
          return true
        }
        group.addTask {
          for await _ in recalled { throw CancellationError() }
          return false
        }
        // The one that waits to be recalled ends before the handler only when the worker is
        // cancelled, and then the handler says what that means.
        while let isDone = try await group.next(), !isDone {}
        group.cancelAll()
      }
      end = AttemptEnd(event: .succeeded, reason: nil)
    } catch {
      end = self.end(of: claim, error, pathBefore: before)
    }
    await finish(claim, end, pathBefore: before)
  }

  private nonisolated func end(
    of claim: Claim, _ error: any Error, pathBefore: NetworkPath
  ) -> AttemptEnd {
    if let error = error as? JobQueueError, error.code == .unreadable {
      return AttemptEnd(event: .unusable, reason: error.message)
    }
    // Of the database that the handler uses: the app suspended it, say, which is nobody's failure.
    let isInterrupted = (error as? DatabaseError)?.isInterruptionError ?? false
    let advice = (error as? any AdvisingError)?.advice ?? (isInterrupted ? .unreachable : .failed)
    if Task.isCancelled {
      // Whatever a cancelled handler says, it says because it was cancelled; but not this.
      guard case .limited = advice else { return AttemptEnd(event: .shutDown, reason: nil) }
    }
    let environment = queue.environment
    let around = JobLife.Circumstances(
      pathBefore: pathBefore, pathAfter: path.path, retry: claim.retry,
      backoff: environment.unreached, jitter: environment.jitter(),
      gateDelay: environment.gateDelay, longestGate: environment.longestGate)
    return AttemptEnd(event: .failed(advice, around), reason: FailureText.of(error))
  }

  private func finish(_ claim: Claim, _ end: AttemptEnd, pathBefore: NetworkPath) async {
    do {
      let stored = try await storePersistently(end, of: claim, pathBefore: pathBefore)
      (refused[claim.id], recalls[claim.id]) = (nil, nil)
      try CrashPoint.reach(.jobAfterFinishCommit)
      try await wakeUnreached(after: stored)
    } catch {
      // A wait for the database that was cancelled leaves the job to the next run.
      failure = failure ?? error
      if recalls[claim.id]?.start == claim.start {
        (refused[claim.id], recalls[claim.id]) = (nil, nil)
        queue.leftBehind.withLock { $0[claim.id] = claim.start }
      }
    }
    running -= 1
    news?.yield()
  }

  /// - Returns: what was stored as the attempt's end.
  private func storePersistently(
    _ end: AttemptEnd, of claim: Claim, pathBefore: NetworkPath
  ) async throws -> AttemptEnd {
    let environment = queue.environment
    var (end, backoff) = (end, environment.unreached)
    var isFirst = true
    while true {
      do {
        try await store(end, of: claim)
        return end
      } catch let refusal as OfApp {
        // Nothing was written; what the app says to the end is the attempt's failure.
        end = self.end(of: claim, refusal.error, pathBefore: pathBefore)
        if !isFirst {
          // It refuses that too. The job keeps its place, and all others go on.
          refused[claim.id] = refusal.error
          news?.yield()
          try await environment.clock.sleep(for: backoff.next(jitter: environment.jitter()))
        }
        isFirst = false
      }
    }
  }

  private func store(_ end: AttemptEnd, of claim: Claim) async throws {
    let (folder, environment) = (queue.folder, queue.environment)
    try await transaction { rows in
      guard let paths = try rows.finish(claim, end, environment) else { return }
      folder.unlink(paths, afterCommitOf: rows.db)
      try CrashPoint.reach(.jobBeforeFinishCommit)
    }
  }

  /// Who waited to be stored while the network changed was not there to be woken.
  private func wakeUnreached(after end: AttemptEnd) async throws {
    let path = path.path
    guard case .failed(_, let around) = end.event, path.hasRoute,
      path.generation != around.pathAfter.generation
    else { return }
    try await write { try $0.wakeUnreached(at: queue.environment.now) }
  }
}
