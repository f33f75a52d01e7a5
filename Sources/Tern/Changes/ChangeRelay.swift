import Synchronization

/// Carries what committed transactions changed to those who listen: for each the union of what it
/// has not taken yet.
final class ChangeRelay: Sendable {
  private struct Listener {
    var pending = ReplicaChanges()
    let signal: AsyncStream<Void>.Continuation
  }

  private struct State {
    var nextID = 0
    var listeners: [Int: Listener] = [:]
  }

  private let state = Mutex(State())

  deinit {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.signal.finish() }
  }

  /// Whether recording is worth its while.
  var isHeard: Bool { state.withLock { !$0.listeners.isEmpty } }

  func tell(_ changes: ReplicaChanges) {
    if changes.isEmpty { return }
    let signals = state.withLock { state in
      for id in state.listeners.keys { state.listeners[id]?.pending.formUnion(changes) }
      return state.listeners.values.map(\.signal)
    }
    for signal in signals { signal.yield() }
  }

  func listen() -> some AsyncSequence<ReplicaChanges, Never> & Sendable {
    let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = Listener(signal: signal)
      return state.nextID
    }
    signal.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) }
    }
    return signals.compactMap { [weak self] _ in self?.take(id) }
  }

  private func take(_ id: Int) -> ReplicaChanges? {
    state.withLock { state in
      guard let pending = state.listeners[id]?.pending, !pending.isEmpty else { return nil }
      state.listeners[id]?.pending = ReplicaChanges()
      return pending
    }
  }
}
