import TernCore

/// A network that changes when a test says so.
public final class ScriptedPathSource: CorrectablePathSource {
  private let relay: PathRelay

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

  public func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }
}
