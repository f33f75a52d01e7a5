import Synchronization

/// Who syncs by one engine: one caller at a time, and while a run has its turn, the run
/// for all others.
final class SyncTurns: Sendable {
  enum Grant: Sendable {
    /// The caller's, until ``end()``.
    case own
    /// A run's, which can be asked.
    case ofRun
    case cancelled
  }

  /// What came of asking a run.
  enum RunResult: Sendable {
    /// Both sides have the same.
    case synced
    case failed(any Error)
    /// The run has ended before.
    case ended
    case cancelled
  }

  private enum Holder { case nobody, once, run }

  private struct Waiter {
    let id: Int
    let isRun: Bool
    let continuation: CheckedContinuation<Grant, Never>
  }

  private struct Asker {
    let continuation: CheckedContinuation<RunResult, Never>
    /// The run has begun anew since it asked.
    var isAttended = false
  }

  private struct State {
    var holder = Holder.nobody
    var waiters: [Waiter] = []
    var askers: [Int: Asker] = [:]
    var lastID = 0
    /// On their way to wait, and not cancelled.
    var arriving: Set<Int> = []

    mutating func arrive() -> Int {
      lastID += 1
      arriving.insert(lastID)
      return lastID
    }
  }

  private let state = Mutex(State())

  /// Waits for a turn.
  func take(asRun isRun: Bool, isolation: isolated (any Actor)? = #isolation) async -> Grant {
    let id = state.withLock { $0.arrive() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let turn = state.withLock { state -> Grant? in
          guard state.arriving.remove(id) != nil else { return .cancelled }
          switch state.holder {
          case .nobody:
            state.holder = isRun ? .run : .once
            return .own
          case .run where !isRun: return .ofRun
          case .run, .once:
            state.waiters.append(Waiter(id: id, isRun: isRun, continuation: continuation))
            return nil
          }
        }
        if let turn { continuation.resume(returning: turn) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// Hands the turn to who has waited longest; those who asked a run are told that it has ended.
  func end() {
    let (turns, askers) = state.withLock { state in
      let askers = state.askers.values.map(\.continuation)
      state.askers = [:]
      state.holder = .nobody
      guard !state.waiters.isEmpty else { return ([(Waiter, Grant)](), askers) }
      let next = state.waiters.removeFirst()
      state.holder = next.isRun ? .run : .once
      guard next.isRun else { return ([(next, Grant.own)], askers) }
      // While it runs, it syncs for them.
      let others = state.waiters.filter { !$0.isRun }
      state.waiters.removeAll { !$0.isRun }
      return ([(next, Grant.own)] + others.map { ($0, .ofRun) }, askers)
    }
    for (waiter, turn) in turns { waiter.continuation.resume(returning: turn) }
    for asker in askers { asker.resume(returning: .ended) }
  }

  // MARK: - Asking a run

  /// Asks the run to sync now, and waits for what comes of it.
  ///
  /// - Parameter wake: wakes the run, which knows then that somebody asks.
  func ask(isolation: isolated (any Actor)? = #isolation, _ wake: () -> Void) async -> RunResult {
    let id = state.withLock { $0.arrive() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> RunResult? in
          guard state.arriving.remove(id) != nil else { return .cancelled }
          guard state.holder == .run else { return .ended }
          state.askers[id] = Asker(continuation: continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) } else { wake() }
      }
    } onCancel: {
      cancel(id)
    }
  }

  /// The run begins anew: what it finds is the answer to all who have asked so far.
  func attend() {
    state.withLock { state in
      for id in state.askers.keys { state.askers[id]?.isAttended = true }
    }
  }

  /// Tells those for whom the run began anew.
  func answer(_ answer: RunResult) {
    let attended = state.withLock { state in
      let attended = state.askers.values.filter(\.isAttended)
      state.askers = state.askers.filter { !$0.value.isAttended }
      return attended
    }
    for asker in attended { asker.continuation.resume(returning: answer) }
  }

  // MARK: - Cancellation

  private func cancel(_ id: Int) {
    let (waiter, asker) = state.withLock { state -> (Waiter?, Asker?) in
      state.arriving.remove(id)
      let index = state.waiters.firstIndex { $0.id == id }
      return (index.map { state.waiters.remove(at: $0) }, state.askers.removeValue(forKey: id))
    }
    waiter?.continuation.resume(returning: .cancelled)
    asker?.continuation.resume(returning: .cancelled)
  }
}
