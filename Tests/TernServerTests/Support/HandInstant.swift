#if Server
import Synchronization

/// A clock that stands until it is set, and counts who looks.
final class HandInstant: Sendable {
  private let state = Mutex((now: ContinuousClock.now, looks: 0))

  var looks: Int { state.withLock { $0.looks } }

  func look() -> ContinuousClock.Instant {
    state.withLock {
      $0.looks += 1
      return $0.now
    }
  }

  func pass(_ duration: Duration) { state.withLock { $0.now += duration } }
}
#endif
