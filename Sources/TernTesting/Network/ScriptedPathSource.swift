import TernCore

/// A network that changes when a test says so.
public final class ScriptedPathSource: NetworkPathSource {
  private let relay: PathRelay

  public init(hasRoute: Bool = true) {
    relay = PathRelay(hasRoute: hasRoute)
  }

  public var path: NetworkPath { relay.path }

  /// One change: the path gets a new generation, also when there was a route before.
  public func set(hasRoute: Bool) {
    relay.change(hasRoute: hasRoute)
  }

  public func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }
}
