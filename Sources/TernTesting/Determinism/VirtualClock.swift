import Synchronization

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
    let deadline: Instant
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
  public func advance() -> Bool {
    let next = state.withLock { state -> Sleeper? in
      let earliest = state.sleepers.indices.min {
        (state.sleepers[$0].deadline, state.sleepers[$0].id)
          < (state.sleepers[$1].deadline, state.sleepers[$1].id)
      }
      guard let earliest else { return nil }
      let sleeper = state.sleepers.remove(at: earliest)
      state.now = max(state.now, sleeper.deadline)
      return sleeper
    }
    next?.continuation.resume()
    return next != nil
  }
}
