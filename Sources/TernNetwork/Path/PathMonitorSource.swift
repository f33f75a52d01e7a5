#if canImport(Network)
import Dispatch
import Network
import TernCore

/// Tells of the network's changes by `NWPathMonitor`, for Apple platforms. A path that a connection
/// would bring up counts as a route.
///
/// - Important: Not verified: no Apple machine has run it yet.
public final class PathMonitorSource: CorrectablePathSource {
  /// For everything in this process.
  public static let shared = PathMonitorSource()

  private let monitor = NWPathMonitor()
  private let relay: PathRelay

  public init() {
    let reports = PathReports<NWPath>()
    relay = reports.relay
    monitor.pathUpdateHandler = { path in
      reports.note(
        path, hasRoute: path.status != .unsatisfied, isExpensive: path.isExpensive,
        isConstrained: path.isConstrained)
    }
    monitor.start(queue: DispatchQueue(label: "tern.path", qos: .utility))
  }

  deinit {
    monitor.cancel()
  }

  public var path: NetworkPath { relay.path }

  public func correct(_ generation: UInt64, hasRoute: Bool, isCaptive: Bool) {
    relay.correct(generation, hasRoute: hasRoute, isCaptive: isCaptive)
  }

  public func changes() -> AsyncStream<NetworkPath> { relay.changes(keeping: self) }
}
#endif
