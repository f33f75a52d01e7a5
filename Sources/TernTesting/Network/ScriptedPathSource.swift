import Synchronization
import TernCore

/// A network that changes when a test says so.
public final class ScriptedPathSource: CorrectablePathSource {
  private let relay: PathRelay
  private let blocked = Mutex<Set<String>>([])

  public init(hasRoute: Bool = true) {
    relay = PathRelay(hasRoute: hasRoute)
  }

  public var path: NetworkPath { relay.path }

  /// One change: the path gets a new generation, also when there was a route before.
  public func set(hasRoute: Bool, isExpensive: Bool = false, isConstrained: Bool = false) {
    relay.change(hasRoute: hasRoute, isExpensive: isExpensive, isConstrained: isConstrained)
  }

  public func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {
    relay.correct(generation, hasRoute: hasRoute, isCaptive: isCaptive)
  }

  /// One change, after which an endpoint cannot be reached although there may be a route.
  public func block(_ endpoint: String) {
    blocked.withLock { _ = $0.insert(endpoint) }
    relay.change(
      hasRoute: path.hasRoute, isExpensive: path.isExpensive, isConstrained: path.isConstrained)
  }

  /// One change, after which an endpoint can be reached where there is a route.
  public func unblock(_ endpoint: String) {
    blocked.withLock { _ = $0.remove(endpoint) }
    relay.change(
      hasRoute: path.hasRoute, isExpensive: path.isExpensive, isConstrained: path.isConstrained)
  }

  public func mayReach(_ endpoint: String) -> Bool {
    path.mayHaveRoute && !blocked.withLock { $0.contains(endpoint) }
  }

  public func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }
}
