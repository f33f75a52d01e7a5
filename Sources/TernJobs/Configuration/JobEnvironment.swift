import Foundation
import TernCore
import TernDatabase

/// What a queue and its worker take from outside, so that a simulation can own it.
public struct JobEnvironment: Sendable {
  /// By which waits are slept.
  public var clock: any Clock<Duration>
  /// The time since 1970, by which waits are stored.
  public var wallClock: @Sendable () -> Duration
  /// Draws a number from 0 to 1.
  public var jitter: @Sendable () -> Double
  /// Draws a number for a file's name: another one each time.
  public var makeID: @Sendable () -> UInt64
  /// How often to look whether another process wrote to the database, where the system can't tell.
  public var pollInterval: Duration
  /// How often to look where the system tells of other processes: at the wall clock, which somebody
  /// may have set, and for what was written by other means than a queue.
  public var clockInterval: Duration
  /// Whether the system is asked to tell of files that others write; not where time is virtual.
  package var watchesFiles = true
  /// The waits of jobs that reached nobody; with no route to anywhere, its limit.
  public var unreached: Backoff
  /// How long a gate is closed when the service did not say.
  public var gateDelay: Duration
  /// What a service may ask for; a longer pause is cut to this.
  public var longestGate: Duration
  /// What the failures of each service may come to: so many at once, then one in each interval, and
  /// one for each attempt that succeeds there. `nil` for no bound.
  public var retryBudget: JobRate?
  /// Who is told what becomes of jobs; by default nobody.
  public var observers: [any JobObserver]
  /// Where a worker decides, and blocks on SQLite.
  public var executor: any SerialExecutor
  /// Where files are copied and synced.
  public var fileExecutor: any SerialExecutor
  /// Whether ``fileExecutor`` works while the caller waits: one that somebody drives may not.
  package var isDriven: @Sendable () -> Bool = { true }

  public init(
    clock: any Clock<Duration> = .continuous,
    // An injected default, as are the next two.
    wallClock: @escaping @Sendable () -> Duration = { .seconds(Date().timeIntervalSince1970) },
    jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    makeID: @escaping @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) },
    pollInterval: Duration = .seconds(1), clockInterval: Duration = .seconds(30),
    unreached: Backoff = Backoff(base: .seconds(1), limit: .seconds(60)),
    gateDelay: Duration = .seconds(30), longestGate: Duration = .seconds(86_400),
    retryBudget: JobRate? = JobRate(1, per: .seconds(10), burst: 30),
    observers: [any JobObserver] = [],
    executor: (any SerialExecutor)? = nil, fileExecutor: (any SerialExecutor)? = nil
  ) {
    self.clock = clock
    self.wallClock = wallClock
    self.jitter = jitter
    self.makeID = makeID
    self.pollInterval = pollInterval
    self.clockInterval = clockInterval
    self.unreached = unreached
    self.gateDelay = gateDelay
    self.longestGate = longestGate
    self.retryBudget = retryBudget
    self.observers = observers
    self.executor = executor ?? DatabaseExecutor(label: "tern.jobs")
    self.fileExecutor = fileExecutor ?? DatabaseExecutor(label: "tern.job-files")
  }

  /// Now, and the moment after a wait that begins now.
  var now: WallTime { WallTime(notAfter: wallClock()) }

  func time(after delay: Duration) -> WallTime { WallTime(notBefore: wallClock() + delay) }

  /// Day by day: a clock may not know a wait of centuries.
  func sleep(for length: Duration) async throws {
    let left = countdown(length)
    while left() > .seconds(86_400) { try await clock.sleep(for: .seconds(86_400)) }
    try await clock.sleep(for: left())
  }

  /// Tells what is left of a while that begins now, by the clock of sleeps, which nobody sets.
  func countdown(_ length: Duration) -> @Sendable () -> Duration { clock.countdown(length) }

  /// Tells how long it is since the call, by the same clock.
  func stopwatch() -> @Sendable () -> Duration {
    let left = countdown(.zero)
    return { .zero - left() }
  }
}

extension Clock<Duration> {
  fileprivate func countdown(_ length: Duration) -> @Sendable () -> Duration {
    let start = now
    return { length - start.duration(to: now) }
  }
}
