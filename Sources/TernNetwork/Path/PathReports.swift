import Synchronization
import TernCore

/// What a system's monitor reports of the network, told on. Until it has reported anything there
/// may be a route.
///
/// Its first report says what is so, and not what has changed: a relay that took it for another
/// network would forgive every service its failures each time that an app is launched. A report
/// that is as the one before is none.
final class PathReports<Report: Equatable & Sendable>: Sendable {
  let relay = PathRelay(hasRoute: true)
  private let last = Mutex<Report?>(nil)

  /// From one thread at a time.
  ///
  /// - Parameter report: all that tells two networks apart, also where the rest is equal.
  func note(_ report: Report, hasRoute: Bool, isExpensive: Bool, isConstrained: Bool) {
    let before = last.withLock { last in
      defer { last = report }
      return last
    }
    if report == before { return }
    if before == nil {
      relay.settle(hasRoute: hasRoute, isExpensive: isExpensive, isConstrained: isConstrained)
    } else {
      relay.change(hasRoute: hasRoute, isExpensive: isExpensive, isConstrained: isConstrained)
    }
  }
}
