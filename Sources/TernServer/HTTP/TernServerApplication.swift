#if Server
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import TernCore
import UnixSignals

/// The sync server: ``SpaceService`` over HTTP/1.1. TLS belongs to a proxy before it.
///
/// It is a `Service`: run it in a `ServiceGroup` of your own, or with ``run(until:)``.
public struct TernServerApplication: Service {
  public var service: SpaceService
  public var host: String
  /// 0 for a free port, which ``onListening`` is told.
  public var port: Int
  /// How often an event stream without news writes something.
  public var heartbeat: Duration = .seconds(15)
  /// How often every space is maintained; see ``SpaceService/maintain(_:)``.
  public var maintenanceInterval: Duration = .seconds(3600)
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }

  public init(service: SpaceService, host: String = "127.0.0.1", port: Int, logger: Logger) {
    self.service = service
    self.host = host
    self.port = port
    self.logger = logger
  }

  /// Serves until the task is cancelled or shut down gracefully: open requests are answered first,
  /// event streams end.
  ///
  /// - Throws: ``ListenError`` when the address can't be had.
  public func run() async throws {
    let maintenance = Maintenance(
      service: service, queue: StoreQueue(), interval: maintenanceInterval, logger: logger)
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await maintenance.run() }
        defer { group.cancelAll() }
        try await application(maintenance).run()
      }
    } catch let error as IOError {
      throw ListenError(host: host, port: port, reason: String(cString: strerror(error.errnoCode)))
    } catch is SocketAddressError {
      throw ListenError(host: host, port: port, reason: "no such host")
    }
  }

  /// Serves until one of `signals`.
  ///
  /// - Parameter signals: SIGTERM and SIGINT, unless you say others.
  public func run(until signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
    var configuration = ServiceGroupConfiguration(
      services: [self], gracefulShutdownSignals: signals, logger: logger)
    // A client that takes no answer must not hold up the shutdown for ever.
    configuration.maximumGracefulShutdownDuration = .seconds(20)
    try await ServiceGroup(configuration: configuration).run()
  }

  private func application(_ maintenance: Maintenance) -> Application<SyncResponder> {
    Application(
      responder: SyncResponder(
        service: service, maintenance: maintenance, heartbeat: heartbeat),
      server: .http1(configuration: .init(idleTimeout: .seconds(75))),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(service.limits.connections)),
      onServerRunning: { [onListening] channel in
        await onListening(channel.localAddress?.port ?? 0)
      },
      logger: logger)
  }
}
#endif
