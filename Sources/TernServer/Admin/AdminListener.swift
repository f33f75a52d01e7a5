#if Server
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOSSL

/// An address of its own for whoever watches the server: `/health`, `/ready` and `/metrics`, for
/// which it asks for no token, so keep it where only your own machines reach it. With
/// ``operators`` also for what operators change, at `/v1/admin`.
public struct AdminListener: Sendable {
  public var host: String
  /// 0 for a free port, which ``onListening`` is told.
  public var port: Int
  /// Who may change spaces and tokens; `nil` where nobody may, and `/v1/admin` is not there.
  public var operators: OperatorTokens?
  /// Whether there is a page at `/dashboard/` that shows a browser what ``operators`` can read of
  /// spaces and their devices. It changes nothing, and without operators it shows nothing.
  public var servesDashboard = false
  /// Whether it speaks TLS, with the certificate of the server. Otherwise it speaks plain HTTP:
  /// then only this machine's own address is right for operators, or a network that nobody else
  /// reads.
  public var usesTLS = false
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }

  public init(host: String = "127.0.0.1", port: Int) {
    self.host = host
    self.port = port
  }

  /// Few connections are enough for whoever watches, and none takes a device's place.
  private static let connections = 64
  private static let idleTime = TimeAmount.seconds(75)

  /// - Parameters:
  ///   - tls: of the server's certificate; `nil` for plain HTTP.
  ///   - handlers: of each connection.
  func application(
    _ responder: AdminResponder, _ tls: TLSConfiguration?, _ logger: Logger,
    handlers: @escaping @Sendable () -> [any RemovableChannelHandler]
  ) throws -> Application<AdminResponder> {
    let http = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: handlers(), idleTimeout: Self.idleTime))
    return Application(
      responder: responder,
      server: try tls.map { try .tls(http, tlsConfiguration: $0) } ?? http,
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
