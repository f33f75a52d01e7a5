#if os(Linux)
import TernCore

/// Tells of the network's changes by what Linux says about routes, and not about interfaces: a
/// machine has interfaces with addresses long before, and long after, packets get anywhere.
///
/// What counts as a route to beyond this machine stands at `RouteTable`: a default route, a gateway
/// or a network on a link that is up; no bridge of containers, no link-local address.
///
/// - One command of an administrator's makes several messages. They are one change: it is told when
///   the kernel has been silent for 150 ms, or after a second of unrest.
/// - A route that goes and comes back at once is a change. So is waking up after the machine slept
///   for a second or more: connections from before are dead.
/// - Where rtnetlink can't be asked, now or later, there may be a route.
/// - It holds a socket, a timer that is never due, and no thread, costs nothing while nothing
///   changes, and a reading of all routes after each change. It ends when it and its
///   streams are released.
public final class RouteSource: CorrectablePathSource {
  /// For everything in this process.
  public static let shared = RouteSource()

  private let relay: PathRelay
  /// `nil` where rtnetlink is not available.
  private let monitor: RouteMonitor?

  public init() {
    do throws(RouteError) {
      let monitor = try RouteMonitor()
      self.monitor = monitor
      relay = monitor.relay
      monitor.start()
    } catch {
      // As the documentation says: nothing is known, so there may be a route.
      monitor = nil
      relay = PathRelay(hasRoute: true)
    }
  }

  deinit {
    monitor?.stop()
  }

  public var path: NetworkPath { relay.path }

  public func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {
    relay.correct(generation, hasRoute: hasRoute, isCaptive: isCaptive)
  }

  public func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }
}
#endif
