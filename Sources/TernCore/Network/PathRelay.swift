import Synchronization

/// Holds a path and tells everybody who reads it of its changes.
package final class PathRelay: Sendable {
  private struct State {
    var path: NetworkPath
    var nextID = 0
    var readers: [Int: AsyncStream<NetworkPath>.Continuation] = [:]

    /// Inside the lock, so that no reader gets an older path after a newer one; in the order in
    /// which they came, so that a simulation repeats.
    mutating func set(_ path: NetworkPath) {
      self.path = path
      for (_, reader) in readers.sorted(by: { $0.key < $1.key }) { reader.yield(path) }
    }
  }

  private let state: Mutex<State>

  package init(hasRoute: Bool, isExpensive: Bool = false) {
    state = Mutex(
      State(path: NetworkPath(hasRoute: hasRoute, generation: 0, isExpensive: isExpensive)))
  }

  package var path: NetworkPath { state.withLock { $0.path } }

  /// One change, also when there is a route as there was before.
  package func change(hasRoute: Bool, isExpensive: Bool = false, isConstrained: Bool = false) {
    change { _ in
      NetworkPath(
        hasRoute: hasRoute, generation: 0, isExpensive: isExpensive, isConstrained: isConstrained)
    }
  }

  /// What the system says first, where it was a guess until then that there is a route: no change
  /// where the guess was right, and nothing has corrected it.
  package func settle(hasRoute: Bool, isExpensive: Bool, isConstrained: Bool) {
    state.withLock { state in
      var path = NetworkPath(
        hasRoute: hasRoute, generation: state.path.generation, isExpensive: isExpensive,
        isConstrained: isConstrained)
      if path == state.path { return }
      var guess = state.path
      (guess.isExpensive, guess.isConstrained) = (isExpensive, isConstrained)
      if guess != path { path.generation += 1 }
      state.set(path)
    }
  }

  /// As ``CorrectablePathSource`` wants it. What the system says next goes before it.
  package func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {
    change { path in
      let isNews = path.hasRoute != hasRoute || path.isCaptive != isCaptive
      guard path.generation == generation, isNews else { return nil }
      var path = path
      path.isDoubted = !hasRoute && (path.hasRoute || path.isDoubted)
      (path.hasRoute, path.isCaptive) = (hasRoute, isCaptive)
      return path
    }
  }

  private func change(_ next: (NetworkPath) -> NetworkPath?) {
    state.withLock { state in
      guard var path = next(state.path) else { return }
      path.generation = state.path.generation + 1
      state.set(path)
    }
  }

  /// As ``NetworkPathSource/changes()`` wants it. A stream keeps `source` alive.
  package func changes(keeping source: (any NetworkPathSource)) -> AsyncStream<NetworkPath> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { reader in
      let id = state.withLock { state in
        state.nextID += 1
        state.readers[state.nextID] = reader
        reader.yield(state.path)
        return state.nextID
      }
      reader.onTermination = { _ in
        self.state.withLock { $0.readers[id] = nil }
        withExtendedLifetime(source) {}
      }
    }
  }

  /// How many streams are being read.
  package var readerCount: Int { state.withLock { $0.readers.count } }
}
