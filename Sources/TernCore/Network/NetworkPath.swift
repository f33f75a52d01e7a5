/// What the system knows about the way to other machines.
///
/// It is a hint: it decides how long to wait and whether a failure counts, and never forbids an
/// attempt. It says nothing of this machine itself, which is reached with no network.
public struct NetworkPath: Hashable, Sendable {
  /// There is a route to beyond this machine.
  public var hasRoute: Bool
  /// Grows with every change, also with one after which there is a route as there was before.
  public var generation: UInt64
  /// What is sent costs money, as far as the system says so: a mobile network, a phone's hotspot.
  public var isExpensive: Bool
  /// The person wants little to be sent, as far as the system says so: Apple's Low Data Mode.
  public var isConstrained: Bool
  /// Somebody on the way answers in the place of servers: a portal that wants a person to sign in.
  /// There is no route then.
  public var isCaptive: Bool
  /// There is no route because requests found none, and not because the system says so: only
  /// another request can find out that there is one again.
  public var isDoubted: Bool

  /// Whether a request may find a way: the system says so, whatever became of others.
  public var mayHaveRoute: Bool { hasRoute || isDoubted }

  public init(
    hasRoute: Bool, generation: UInt64, isExpensive: Bool = false, isConstrained: Bool = false,
    isCaptive: Bool = false, isDoubted: Bool = false
  ) {
    self.hasRoute = hasRoute
    self.generation = generation
    self.isExpensive = isExpensive
    self.isConstrained = isConstrained
    self.isCaptive = isCaptive
    self.isDoubted = isDoubted
  }
}

/// Tells of the network's changes: by rtnetlink on Linux, `NWPathMonitor` on Apple platforms, a
/// script in tests.
public protocol NetworkPathSource: Sendable {
  /// What is known now.
  var path: NetworkPath { get }

  /// Whether what an app knows by a name, an origin for example, may be reached over that path. Who
  /// has no means to know says what it knows of the path, as the default does; what it says changes
  /// with the path's generation alone.
  func mayReach(_ endpoint: String) -> Bool

  /// What is known now, and then what it becomes; a slow reader gets the newest only. Ends when its
  /// reader's task is cancelled.
  func changes() -> AsyncStream<NetworkPath>
}

/// A source that believes what became of requests more than what the system says.
public protocol CorrectablePathSource: NetworkPathSource {
  /// Takes what was found out for a change, unless it is no news, or about a path that is past.
  ///
  /// - Parameters:
  ///   - generation: of the path in which it was found out.
  func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool)
}

/// Where nothing is known of the network: there may be a route, and nothing ever changes.
package struct UnknownPathSource: CorrectablePathSource {
  package init() {}

  package var path: NetworkPath { NetworkPath(hasRoute: true, generation: 0) }

  /// Nothing: there may always be a route.
  package func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {}

  package func changes() -> AsyncStream<NetworkPath> {
    AsyncStream { continuation in continuation.yield(path) }
  }
}

extension NetworkPathSource {
  public func mayReach(_ endpoint: String) -> Bool {
    path.mayHaveRoute
  }
}
