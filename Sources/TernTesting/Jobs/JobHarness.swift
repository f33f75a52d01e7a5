import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork

/// Runs an app's own handlers over the app's own database in virtual time, on the thread that
/// calls: days of retries pass in milliseconds, and a seed always makes the same run.
///
/// ```swift
/// let harness = JobHarness()
/// let jobs = try await JobQueue.open(database, environment: harness.environment)
/// harness.start(jobs) { $0.handle(ScanShelf.self, scanner.scan) }
/// try await database.write { db in _ = try jobs.enqueue(ScanShelf(shelf: "1"), in: db) }
/// harness.fail(ScanShelf.self, at: .work("recognise"), with: JobFailure(.failed, "busy"))
/// try harness.drain()
/// ```
///
/// Nothing happens but within ``drain(within:attempts:)``, ``settle(within:attempts:)``,
/// ``advance(by:attempts:)`` and ``perform(within:attempts:_:)``,
/// but for what the test itself writes, and attaches. A handler sleeps on ``clock``.
/// What it awaits beside that, GRDB's asynchronous `write` or another actor for example, is waited
/// for in real time, while virtual time stands still; what comes first of several such is chance. A
/// timeout that surrounds such a wait sleeps on ``VirtualClock/asTimer``. The thread that drains is
/// not free meanwhile, which is the main actor's in a test on the main actor.
///
/// It is to be used by one task at a time. A handler that refers to it keeps it, and the worker's
/// lock with it, until ``stop()``: let handlers have ``clock`` and ``network``.
public final class JobHarness: Sendable {
  /// By which handlers and fake services sleep; one that never answers awaits its
  /// ``VirtualClock/silence()``.
  public let clock: VirtualClock
  /// What the worker knows of the network. Handlers' requests take no notice of it unless their
  /// fake service does.
  public let network = ScriptedPathSource()
  /// For ``JobQueue/open(_:files:limits:durability:environment:)``. A copy may be changed beside
  /// its clocks and executors.
  public let environment: JobEnvironment
  let executor: SeededExecutor
  let attempts: AttemptWatch
  /// How far somebody has set the wall clock.
  private let skew: Skew
  let life = Mutex<Life?>(nil)
  /// How long something outside may take, in real time.
  let outsideSeconds: Int

  /// A worker over a queue, over all of its deaths.
  struct Life: Sendable {
    let jobs: JobQueue
    let makeWorker: @Sendable () -> JobWorker
    let watch: DeathWatch
    var run: Run<Void>
  }

  /// - Parameters:
  ///   - seed: picks which of several tasks that are ready goes on, and what chance draws.
  ///   - start: what the wall clock shows at first, since 1970.
  ///   - outsideSeconds: how long a handler may wait for what the harness does not own,
  ///     in real time.
  public init(
    seed: UInt64 = 1, start: Duration = .seconds(1_767_225_600), outsideSeconds: Int = 10
  ) {
    var generator = SeededGenerator(seed: seed)
    let executor = SeededExecutor(seed: generator.next())
    let (draws, ids) = (Draws(seed: generator.next()), Draws(seed: generator.next()))
    let (clock, skew) = (VirtualClock(), Skew())
    var environment = JobEnvironment(
      clock: clock, wallClock: { start + clock.now.offset + skew.value },
      jitter: { draws.fraction() }, makeID: { ids.next() },
      // Nobody else is told of; a day's look is for what another connection wrote.
      pollInterval: .seconds(86_400), executor: executor, fileExecutor: executor)
    environment.watchesFiles = false
    // Within a handler or `perform`. What the test attaches by itself nobody would copy.
    environment.isDriven = { Activity.current != nil }
    self.environment = environment
    (self.clock, self.skew) = (clock, skew)
    (self.executor, self.outsideSeconds) = (executor, outsideSeconds)
    attempts = AttemptWatch(network)
  }

  deinit {
    do {
      try stop()
    } catch {
      // Its test has ended, and whatever it runs into later is nobody's.
      FileHandle.standardError.write(
        Data("a JobHarness was let go whose worker did not end: \(error)\n".utf8))
    }
  }

  // MARK: - Time

  /// What the wall clock shows, since 1970.
  public var wallTime: Duration { environment.wallClock() }

  /// Somebody sets the wall clock ahead, or with a negative time back. Sleeps go on as they are.
  public func setWallClock(ahead time: Duration) { skew.add(time) }

  // MARK: - The app's worker

  /// Starts a worker as an app does at its launch. Nothing happens before the harness is told
  /// to go on.
  ///
  /// - Parameters:
  ///   - jobs: opened with this harness's ``environment``.
  ///   - concurrency: as of `JobWorker`.
  ///   - transfers: what carries uploads on: ``ScriptedTransfers``, the same over all lives.
  ///   - register: names the app's handlers; called again after each crash.
  public func start(
    _ jobs: JobQueue, concurrency: Int = 4, transfers: (any BackgroundTransfers)? = nil,
    _ register: @escaping @Sendable (inout JobHandlers) -> Void
  ) {
    precondition(life.withLock { $0 == nil }, "the harness runs a worker already; stop that first")
    precondition(
      (jobs.environment.executor as AnyObject) === executor,
      "open the queue with this harness's environment")
    let (attempts, network) = (attempts, network)
    let makeWorker = { @Sendable in
      JobWorker(jobs, concurrency: concurrency, path: network, transfers: transfers) { handlers in
        register(&handlers)
        handlers.surround { try await attempts.surround($0, $1, $2) }
      }
    }
    let watch = DeathWatch(attempts)
    jobs.database.add(transactionObserver: watch, extent: .observerLifetime)
    let run = run(makeWorker())
    life.withLock {
      $0 = Life(jobs: jobs, makeWorker: makeWorker, watch: watch, run: run)
    }
  }

  /// Ends the worker as an app does that quits: what runs is cancelled, at no cost in attempts.
  ///
  /// - Throws: ``JobHarnessError`` `.waitsOutside` for a handler that does not
  ///   heed its cancellation.
  public func stop() throws {
    guard let life = life.withLock({ $0.take() }) else { return }
    try unwind(life.run)
    // By what a handler reached while it was cancelled.
    if attempts.isDead { attempts.revive() }
  }

  /// The process dies here and now, and the app is launched again: what is not committed is lost.
  ///
  /// - Throws: ``JobHarnessError`` `.waitsOutside` for a handler that does not
  ///   heed its cancellation.
  public func crash() throws {
    attempts.die()
    try launchAgain()
  }

  // MARK: - What goes wrong

  /// Lets the next attempts of a kind fail where they reach a point.
  ///
  /// - Parameter count: how often; others that reach it go on.
  public func fail<J: Job>(
    _ type: J.Type, at point: JobPoint = .start, with error: any Error, times count: Int = 1
  ) {
    precondition(count > 0, "a failure happens at least once")
    attempts.plan(JobPlan(kind: J.kind, point: point, event: .failure(error), count: count))
  }

  /// Lets the process die where the next attempts of a kind reach a point, and the app be launched
  /// again: no transaction that is open there is committed, and none after it. What the handler
  /// does outside of the database as it is unwound, in a `defer` for example, still happens.
  ///
  /// - Parameter count: how often.
  public func crash<J: Job>(_ type: J.Type, at point: JobPoint = .start, times count: Int = 1) {
    precondition(count > 0, "a crash happens at least once")
    attempts.plan(JobPlan(kind: J.kind, point: point, event: .death, count: count))
  }

  /// What was planned by ``fail(_:at:with:times:)`` and ``crash(_:at:times:)`` and has not
  /// happened, in words: a step's name may be wrong.
  public var planned: [String] { attempts.plans.map(\.description) }
}

/// How far a wall clock is off.
private final class Skew: Sendable {
  private let state = Mutex(Duration.zero)

  var value: Duration { state.withLock { $0 } }
  func add(_ time: Duration) { state.withLock { $0 += time } }
}

/// A generator that many may draw from.
private final class Draws: Sendable {
  private let state: Mutex<SeededGenerator>

  init(seed: UInt64) { state = Mutex(SeededGenerator(seed: seed)) }

  func next() -> UInt64 { state.withLock { $0.next() } }
  func fraction() -> Double { state.withLock { Double.random(in: 0...1, using: &$0) } }
}
