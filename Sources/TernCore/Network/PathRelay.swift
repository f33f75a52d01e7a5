import Synchronization

/// Holds a path and tells everybody who reads it of its changes.
package final class PathRelay: Sendable {
  private struct Readers {
    var nextID = 0
    var continuations: [Int: AsyncStream<NetworkPath>.Continuation] = [:]
  }

  private let current: Mutex<NetworkPath>
  /// Under a lock of its own, in which nobody is told of anything: a reader that is cancelled takes
  /// it while Swift holds the reader's task, for which whoever tells that reader waits.
  private let readers = Mutex(Readers())

  package init(hasRoute: Bool, isExpensive: Bool = false) {
    current = Mutex(NetworkPath(hasRoute: hasRoute, generation: 0, isExpensive: isExpensive))
  }

  package var path: NetworkPath { current.withLock { $0 } }

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
    current.withLock { current in
      var path = NetworkPath(
        hasRoute: hasRoute, generation: current.generation, isExpensive: isExpensive,
        isConstrained: isConstrained)
      if path == current { return }
      var guess = current
      (guess.isExpensive, guess.isConstrained) = (isExpensive, isConstrained)
      if guess != path { path.generation += 1 }
      current = path
      tell(path)
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
    current.withLock { current in
      guard var path = next(current) else { return }
      path.generation = current.generation + 1
      current = path
      tell(path)
    }
  }

  /// Inside the path's lock, so that no reader gets an older path after a newer one; in the order
  /// in which they came, so that a simulation repeats.
  private func tell(_ path: NetworkPath) {
    let told = readers.withLock { $0.continuations.sorted { $0.key < $1.key } }
    for (_, reader) in told { reader.yield(path) }
  }

  /// As ``NetworkPathSource/changes()`` wants it. A stream keeps `source` alive.
  package func changes(keeping source: (any NetworkPathSource)) -> AsyncStream<NetworkPath> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { reader in
      let id = current.withLock { path in
        reader.yield(path)
        return readers.withLock { readers in
          readers.nextID += 1
          readers.continuations[readers.nextID] = reader
          return readers.nextID
        }
      }
      reader.onTermination = { _ in
        self.readers.withLock { _ = $0.continuations.removeValue(forKey: id) }
        withExtendedLifetime(source) {}
      }
    }
  }

  /// How many streams are being read.
  package var readerCount: Int { readers.withLock { $0.continuations.count } }
}
