import Synchronization
import TernJobs

/// Sleeps that are no sign that anything waits for a time to come.
private struct TimerClock: Clock {
  let clock: VirtualClock

  var now: VirtualClock.Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: VirtualClock.Instant, tolerance: Duration?) async throws {
    try await AttemptPoint.$isTimer.withValue(true) {
      try await clock.sleep(until: deadline, tolerance: tolerance)
    }
  }
}

/// A clock that stands still until it is told to go on to the next sleeper.
public final class VirtualClock: Clock {
  public struct Instant: InstantProtocol {
    /// Since the clock was made.
    public var offset: Duration

    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    let id: Int
    /// `nil` for one whom no time wakes.
    let deadline: Instant?
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Instant(offset: .zero)
    var nextID = 0
    var sleepers: [Sleeper] = []
    /// Cancelled before they fell asleep.
    var cancelled: Set<Int> = []
  }

  private let state = Mutex(State())

  public init() {}

  public var now: Instant { state.withLock { $0.now } }
  public var minimumResolution: Duration { .nanoseconds(1) }

  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await Activity.asleep { try await wait(until: deadline) }
  }

  /// Until the task is cancelled: what a service does that never answers.
  ///
  /// - Throws: `CancellationError`.
  public func silence() async throws -> Never {
    try await Activity.asleep { try await wait(until: nil) }
    preconditionFailure("a sleeper without a deadline was woken")
  }

  /// Tells a ``JobHarness`` that what `body` awaits comes in virtual time: from another job that
  /// sleeps, say.
  public func whileTimePasses<T>(_ body: () async throws -> T) async rethrows -> T {
    try await Activity.asleep(body)
  }

  /// This clock for what ends something else when it takes too long, as a timeout of an
  /// app's own does.
  ///
  /// Who sleeps by it is not taken to be asleep by a ``JobHarness``: as long as what it surrounds
  /// waits for something outside, time stands still.
  public var asTimer: any Clock<Duration> { TimerClock(clock: self) }

  private func wait(until deadline: Instant?) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let sleeper = Sleeper(id: id, deadline: deadline, continuation: continuation)
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(id) != nil { return true }
          state.sleepers.append(sleeper)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        if let index = state.sleepers.firstIndex(where: { $0.id == id }) {
          return state.sleepers.remove(at: index)
        }
        state.cancelled.insert(id)
        return nil
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Goes to the earliest deadline and wakes its sleeper; `false` when nobody sleeps.
  @discardableResult
  public func advance() -> Bool { advance(notBeyond: nil) }

  /// - Parameter limit: where the clock does not go beyond; `nil` for no limit.
  func advance(notBeyond limit: Instant?) -> Bool {
    let next = state.withLock { state -> Sleeper? in
      func order(_ sleeper: Sleeper) -> (Instant, Int) {
        (sleeper.deadline ?? Instant(offset: .seconds(Int64.max)), sleeper.id)
      }
      let earliest = state.sleepers.indices.min {
        order(state.sleepers[$0]) < order(state.sleepers[$1])
      }
      guard let earliest, let deadline = state.sleepers[earliest].deadline,
        limit.map({ deadline <= $0 }) ?? true
      else { return nil }
      state.now = max(state.now, deadline)
      return state.sleepers.remove(at: earliest)
    }
    next?.continuation.resume()
    return next != nil
  }

  /// Lets time pass that nobody sleeps through.
  func pass(to moment: Instant) { state.withLock { $0.now = max($0.now, moment) } }
}
