/// What the system knows about the way to other machines.
///
/// It is a hint: it decides how long to wait and whether a failure counts, and never forbids an
/// attempt. It says nothing of this machine itself, which is reached with no network.
public struct NetworkPath: Hashable, Sendable {
  /// There is a route to beyond this machine.
  public var hasRoute: Bool
  /// Grows with every change, also with one after which there is a route as there was before.
  public var generation: UInt64

  public init(hasRoute: Bool, generation: UInt64) {
    self.hasRoute = hasRoute
    self.generation = generation
  }
}

/// Tells of the network's changes: by rtnetlink on Linux, from a script in tests.
public protocol NetworkPathSource: Sendable {
  /// What is known now.
  var path: NetworkPath { get }

  /// What is known now, and then what it becomes; a slow reader gets the newest only. Ends when its
  /// reader's task is cancelled.
  func changes() -> AsyncStream<NetworkPath>
}

/// Where nothing is known of the network: there may be a route, and nothing ever changes.
public struct UnknownPathSource: NetworkPathSource {
  public init() {}

  public var path: NetworkPath { NetworkPath(hasRoute: true, generation: 0) }

  public func changes() -> AsyncStream<NetworkPath> {
    AsyncStream { continuation in continuation.yield(path) }
  }
}
