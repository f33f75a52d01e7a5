import TernCore

/// What has to be there while a job runs. Until then it waits, and its record says so. When that
/// goes, its handler is cancelled at once; the attempt costs nothing, and the job waits again. An
/// upload that goes on without its attempt is not stopped.
public struct JobRequirement: Hashable, Sendable {
  /// Of the network. The raw values are stored.
  public enum Network: String, Hashable, Sendable, CaseIterable {
    /// None is needed: what the network lacks is found out by trying.
    case notNeeded = ""
    /// A route to beyond this machine.
    case any
    /// A route that is neither expensive nor constrained, as far as the system says so. Linux says
    /// that of a modem's routes, and of nothing else: there a phone's hotspot will do.
    case unmetered
  }

  public var network: Network
  /// What the app's ``NetworkPathSource`` knows by this name may be reached: an origin, say.
  public var endpoint: String?

  public init(_ network: Network, endpoint: String? = nil) {
    precondition(endpoint != "", "an endpoint has a name")
    (self.network, self.endpoint) = (network, endpoint)
  }

  /// Nothing: it is started as soon as it is due. The default.
  public static let nothing = JobRequirement(.notNeeded)
  /// Any network.
  public static let network = JobRequirement(.any)
  /// A network on which nobody pays for what is sent.
  public static let unmetered = JobRequirement(.unmetered)

  /// Any network over which an endpoint may be reached.
  public static func endpoint(_ name: String) -> JobRequirement {
    JobRequirement(.any, endpoint: name)
  }

  func isMet(by source: any NetworkPathSource) -> Bool {
    let path = source.path
    // What requests found out is found out to be over by requests alone: these wait
    // for their backoff.
    switch network {
    case .notNeeded: break
    case .any: if !path.mayHaveRoute { return false }
    case .unmetered:
      if !path.mayHaveRoute || path.isExpensive || path.isConstrained { return false }
    }
    return endpoint.map(source.mayReach) ?? true
  }

  // MARK: - As it is stored: the network's word, and the endpoint behind a space

  init(stored text: String) {
    let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    // What a newer Tern requires is refused with its format.
    network = parts.first.flatMap { Network(rawValue: String($0)) } ?? .any
    endpoint = parts.count == 2 ? String(parts[1]) : nil
  }

  var stored: String { network.rawValue + (endpoint.map { " \($0)" } ?? "") }
}
