#if Server
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// An address of its own for whoever watches the server: `/health`, `/ready` and `/metrics`.
///
/// It asks for no token, so keep it where only your own machines reach it.
public struct AdminListener: Sendable {
  public var host: String
  /// 0 for a free port, which ``onListening`` is told.
  public var port: Int
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }

  public init(host: String = "127.0.0.1", port: Int) {
    self.host = host
    self.port = port
  }

  /// Few connections are enough for whoever watches, and none takes a device's place.
  private static let connections = 64
  private static let idleTime = TimeAmount.seconds(75)

  func application(_ responder: AdminResponder, _ logger: Logger) -> Application<AdminResponder> {
    Application(
      responder: responder,
      server: .http1(configuration: .init(idleTimeout: Self.idleTime)),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(Self.connections)),
      onServerRunning: { [onListening] channel in
        await onListening(channel.localAddress?.port ?? 0)
      },
      logger: logger)
  }
}
#endif
