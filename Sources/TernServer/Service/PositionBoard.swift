#if Server
import Synchronization
import TernCore

/// Who listens to which space, in this process.
final class PositionBoard: Sendable {
  /// By space, in the order in which they came, so that a simulation repeats.
  private let listeners = Mutex<[SpaceName: [PositionListener]]>([:])

  /// The listener leaves when it is finished, or when its stream is dropped.
  func listen(to space: SpaceName, atMost limit: Int) throws(RemoteError) -> (
    PositionListener, AsyncStream<UInt64>
  ) {
    let (positions, continuation) = AsyncStream.makeStream(
      of: UInt64.self, bufferingPolicy: .bufferingNewest(1))
    let listener = PositionListener(continuation)
    let hasRoom = listeners.withLock { listeners in
      guard listeners[space, default: []].count < limit else { return false }
      listeners[space, default: []].append(listener)
      return true
    }
    guard hasRoom else {
      throw RemoteError(
        .unavailable,
        "streamsPerSpace: the space has \(limit) open event streams, its limit; try again later",
        retryAfter: .seconds(30))
    }
    continuation.onTermination = { [weak self, weak listener] _ in
      guard let self, let listener else { return }
      remove(listener, from: space)
    }
    return (listener, positions)
  }

  func publish(_ position: UInt64, of space: SpaceName) {
    // Outside the lock: a listener that ends at this moment asks for it.
    for listener in listeners.withLock({ $0[space] ?? [] }) { listener.offer(position) }
  }

  private func remove(_ listener: PositionListener, from space: SpaceName) {
    listeners.withLock { listeners in
      listeners[space]?.removeAll { $0 === listener }
      if listeners[space]?.isEmpty == true { listeners[space] = nil }
    }
  }

  /// How many listeners a space has.
  func count(of space: SpaceName) -> Int {
    listeners.withLock { $0[space]?.count ?? 0 }
  }
}
#endif
