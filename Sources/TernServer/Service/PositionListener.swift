#if Server
import Synchronization

/// One reader of a space's positions, which is given only the newest that it hasn't taken.
final class PositionListener: Sendable {
  private let newest = Mutex<UInt64>(0)
  private let delay = Mutex<Duration?>(nil)
  private let continuation: AsyncStream<UInt64>.Continuation

  init(_ continuation: AsyncStream<UInt64>.Continuation) {
    self.continuation = continuation
  }

  /// The greatest position that it was offered.
  var position: UInt64 { newest.withLock { $0 } }

  /// Wakes the reader with the greatest position so far: two pushes tell theirs in either order.
  func offer(_ position: UInt64) {
    newest.withLock {
      $0 = max($0, position)
      continuation.yield($0)
    }
  }

  /// The same, where it is news.
  func advance(to position: UInt64) {
    newest.withLock {
      guard position > $0 else { return }
      $0 = position
      continuation.yield(position)
    }
  }

  /// Wakes the reader without news.
  func remind() { offer(0) }

  /// How long the reader is to wait before it listens again, where that was said.
  var returnDelay: Duration? { delay.withLock { $0 } }

  /// Ends the reader's stream, after what it hasn't taken.
  func finish(returnDelay: Duration? = nil) {
    if let returnDelay { delay.withLock { $0 = returnDelay } }
    continuation.finish()
  }
}
#endif
