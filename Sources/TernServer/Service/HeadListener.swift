#if Server
import Synchronization

/// One reader of a space's heads, which is given only the newest that it hasn't taken.
final class HeadListener: Sendable {
  private let newest = Mutex(SpaceHead())
  private let delay = Mutex<Duration?>(nil)
  private let continuation: AsyncStream<SpaceHead>.Continuation
  /// By what it listens; `nil` for one of this process itself.
  let grant: Grant?
  /// How many there were before it.
  let number: Int

  init(
    _ continuation: AsyncStream<SpaceHead>.Continuation, number: Int, by grant: Grant?
  ) {
    (self.continuation, self.number, self.grant) = (continuation, number, grant)
  }

  /// What it was told last.
  var told: SpaceHead { newest.withLock { $0 } }

  /// Wakes the reader with the newest head so far: two pushes tell theirs in either order.
  func offer(_ head: SpaceHead) {
    newest.withLock {
      if head.position > $0.position { $0 = head }
      continuation.yield($0)
    }
  }

  /// The same, where it is news.
  func advance(to head: SpaceHead) {
    newest.withLock {
      guard head.position > $0.position else { return }
      $0 = head
      continuation.yield(head)
    }
  }

  /// Tells of a head that no longer follows from what was told, as it is, and ends the stream: the
  /// device asks anew where the space is.
  func goBack(to head: SpaceHead) {
    newest.withLock { $0 = head }
    continuation.yield(head)
    finish()
  }

  /// Wakes the reader without news.
  func remind() { offer(SpaceHead()) }

  /// How long the reader is to wait before it listens again, where that was said.
  var returnDelay: Duration? { delay.withLock { $0 } }

  /// Ends the reader's stream, after what it hasn't taken.
  func finish(returnDelay: Duration? = nil) {
    if let returnDelay { delay.withLock { $0 = returnDelay } }
    continuation.finish()
  }
}
#endif
