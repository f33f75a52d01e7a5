#if Server
import Synchronization
import TernCore

/// Requests of one kind, as a metric counts them. A space is no label: there can be 100,000.
struct AnsweredRequests: Hashable {
  let route: String
  let status: Int
}

/// Counts what a server does from its beginning on.
final class ServerMetrics: Sendable {
  struct Counts {
    var requests: [AnsweredRequests: Int] = [:]
    var times: [String: Histogram] = [:]
    var refusals: [String: Int] = [:]
    var pushes = 0
    var operations = 0
    var storeErrors = 0
    /// When a round of maintenance ended, or the server began.
    var maintained: ContinuousClock.Instant
    /// What the store said of itself last, and when.
    var statistics: (StoreStatistics, at: ContinuousClock.Instant)?
  }

  /// A clock that nobody sets.
  let now: @Sendable () -> ContinuousClock.Instant
  private let state: Mutex<Counts>

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
    self.now = now
    state = Mutex(Counts(maintained: now()))
  }

  var counts: Counts { state.withLock { $0 } }

  func answered(_ route: String, status: Int, in time: Duration) {
    state.withLock {
      $0.requests[AnsweredRequests(route: route, status: status), default: 0] += 1
      $0.times[route, default: Histogram()].add(time)
    }
  }

  func refused(_ code: RemoteError.Code) {
    state.withLock { $0.refusals[code.rawValue, default: 0] += 1 }
  }

  func pushed(_ accepted: Int) {
    state.withLock {
      $0.pushes += 1
      $0.operations += accepted
    }
  }

  func storeFailed() { state.withLock { $0.storeErrors += 1 } }

  func maintained() { state.withLock { $0.maintained = now() } }

  func read(_ statistics: StoreStatistics) {
    state.withLock { $0.statistics = (statistics, now()) }
  }
}
#endif
