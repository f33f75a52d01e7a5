#if Server
import Synchronization

/// The spaces that this process has moved and not announced yet.
final class MovedSpaces: Sendable {
  /// Yields when there is one.
  let wakes: AsyncStream<Void>
  private let waker: AsyncStream<Void>.Continuation
  private let names = Mutex<Set<SpaceName>>([])

  init() {
    (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  func note(_ space: SpaceName) {
    names.withLock { _ = $0.insert(space) }
    waker.yield()
  }

  /// Those since it was called last.
  func take() -> Set<SpaceName> {
    names.withLock { names in
      defer { names = [] }
      return names
    }
  }
}
#endif
