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
  /// How long a connection may stand still: without a request, or with an answer of which it takes
  /// nothing; in the latter case up to twice as long.
  public var idleTimeout: Duration = .seconds(75)
  /// How often every space is maintained; see ``SpaceService/maintain(_:)``.
  public var maintenanceInterval: Duration = .seconds(3600)
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }

  let received = BodyBudget.ofRequests()
  let sent = BodyBudget.ofAnswers()
  let queue: StoreQueue
  var processors: ProcessorAccounts

  public init(service: SpaceService, host: String = "127.0.0.1", port: Int, logger: Logger) {
    self.service = service
    queue = StoreQueue(
      writesAtOnce: service.store.concurrentUpdates,
      waitingPerSpace: service.limits.waitingPerSpace)
    processors = ProcessorAccounts(allowance: service.limits.processorPerToken)
    self.host = host
    self.port = port
    self.logger = logger
  }

  /// Serves until the task is cancelled or shut down gracefully: open requests are answered first,
  /// event streams end.
  ///
  /// - Throws: ``ListenError`` when the address can't be had.
  public func run() async throws {
    var service = service
    service.makesSpaces = false
    let maintenance = Maintenance(
      service: service, queue: queue, interval: maintenanceInterval, logger: logger)
    let relay = AnnouncementRelay(service: service, queue: queue, logger: logger)
    let heads = HeadReader(service: service, queue: queue, logger: logger)
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await maintenance.run() }
        group.addTask { await heads.run() }
        group.addTask { await relay.run() }
        defer { group.cancelAll() }
        try await application(maintenance).run()
      }
    } catch let error as IOError {
      throw ListenError(host: host, port: port, reason: String(cString: strerror(error.errnoCode)))
    } catch is SocketAddressError {
      throw ListenError(host: host, port: port, reason: "no such host")
    }
  }

  /// Serves until one of `signals`. Open requests then have 20 seconds, and what does not heed that
  /// they are over 10 more; after that the process traps, as nothing is left to save: what was
  /// acknowledged is on the disk.
  ///
  /// - Parameter signals: SIGTERM and SIGINT, unless you say others.
  public func run(until signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
    var configuration = ServiceGroupConfiguration(
      services: [self], gracefulShutdownSignals: signals, logger: logger)
    // A client that takes no answer must not hold up the shutdown for ever.
    configuration.maximumGracefulShutdownDuration = .seconds(20)
    configuration.maximumCancellationDuration = .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
  }

  private func application(_ maintenance: Maintenance) -> Application<SyncResponder> {
    // A body that is too late is refused first, where there is something left of it to read.
    let limits = service.limits
    let requestTime = limits.bodyTime + idleTimeout
    let connections = ConnectionBook(
      limit: limits.connections, limitPerAddress: limits.connectionsPerAddress)
    let handlers = { @Sendable [idleTimeout] () -> [any RemovableChannelHandler] in
      let watch = ConnectionWatch(
        writeTime: idleTimeout, requestTime: requestTime, headTime: limits.headTime,
        connections: connections)
      return [watch, RefusedBody()]
    }
    return Application(
      responder: SyncResponder(
        maintenance: maintenance, received: received, sent: sent, connections: connections,
        processors: processors, heartbeat: heartbeat),
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: handlers(), idleTimeout: TimeAmount(idleTimeout))),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)),
      onServerRunning: { [onListening] channel in
        await onListening(channel.localAddress?.port ?? 0)
      },
      logger: logger)
  }
}
#endif
