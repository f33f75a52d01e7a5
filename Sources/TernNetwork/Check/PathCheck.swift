import Synchronization

/// Lets one of all who doubt a path ask for it, and the others wait for what it hears.
final class PathCheck: Sendable {
  private struct State {
    var isAsking = false
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextID = 0
    /// It was asked then, in that generation.
    var settled: (generation: UInt64, at: ContinuousClock.Instant)?
  }

  private enum Turn {
    case ask
    case skip
    case wait(Int)
  }

  private let state = Mutex(State())
  private let now: @Sendable () -> ContinuousClock.Instant

  static let pause = Duration.seconds(30)

  init(now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.now = now
  }

  /// - Parameter isCurrent: whether the path is still the one that is doubted.
  /// - Returns: Whether the caller is to ask, and then to call ``end(_:isSettled:)``. `false` when
  ///   somebody has just asked, or has done so when this returns.
  func begin(_ generation: UInt64, while isCurrent: () -> Bool) async -> Bool {
    while !Task.isCancelled, isCurrent() {
      let now = now()
      let turn: Turn = state.withLock { state in
        if let settled = state.settled, settled.generation == generation,
          now - settled.at < Self.pause
        {
          return .skip
        }
        guard state.isAsking else {
          state.isAsking = true
          return .ask
        }
        state.nextID += 1
        return .wait(state.nextID)
      }
      switch turn {
      case .ask: return true
      case .skip: return false
      case .wait(let id): await wait(as: id)
      }
    }
    return false
  }

  /// Until the question is answered, or the caller is cancelled.
  private func wait(as id: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isWaiting = state.withLock { state in
          guard state.isAsking, !Task.isCancelled else { return false }
          state.waiting[id] = continuation
          return true
        }
        if !isWaiting { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume()
    }
  }

  /// - Parameter isSettled: `false` of who has found out nothing; one of those that wait asks then.
  func end(_ generation: UInt64, isSettled: Bool) {
    let now = now()
    let waiting = state.withLock { state in
      state.isAsking = false
      state.settled = isSettled ? (generation, now) : nil
      defer { state.waiting = [:] }
      return state.waiting
    }
    for (_, continuation) in waiting.sorted(by: { $0.key < $1.key }) { continuation.resume() }
  }
}
