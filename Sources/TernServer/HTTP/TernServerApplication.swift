#if Server
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
import TernCore
import Tracing
import UnixSignals

/// The sync server: ``SpaceService`` over HTTP/1.1, with TLS or without.
///
/// It is a `Service`: run it in a `ServiceGroup` of your own, or with ``run(until:)``.
public struct TernServerApplication: Service {
  public var service: SpaceService
  /// Says who may use which space; tokens unless you say otherwise.
  public var authorizer: any Authorizer
  /// Speaks TLS with these; `nil` is plain HTTP, for this machine alone or behind a proxy with TLS.
  public var tls: TLSFiles?
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
  /// How long the server goes on as before when it is told to end, but for `/ready`: so long a load
  /// balancer may take to notice.
  public var drainDelay = Duration.zero
  /// How long the event streams take to end after that, if they are many: 200 end in a second, or
  /// as many more as it takes.
  public var streamDrainTime = Duration.seconds(10)
  /// After so long a request is told of in the log; `nil` for never. A body that comes in slowly
  /// counts.
  public var slowRequestTime: Duration?
  /// Where whoever watches the server asks how it is; `nil` for nowhere.
  public var admin: AdminListener?
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }

  let received = BodyBudget.ofRequests()
  let sent = BodyBudget.ofAnswers()
  let queue: StoreQueue
  let metrics = ServerMetrics()
  private let tracer: any Tracer
  var processors: ProcessorAccounts
  /// From 0 to 1. An injected default: who waits how long is no part of what a simulation decides.
  var random: @Sendable () -> Double = { .random(in: 0...1) }
  /// How often the certificate's files are read again.
  var certificateInterval = Duration.seconds(10)
  /// When open event streams are looked at.
  var streamTimes = PeriodicCheck.Times()

  /// Requests and transactions are traced by the backend of swift-distributed-tracing that is
  /// installed before this.
  public init(service: SpaceService, host: String = "127.0.0.1", port: Int, logger: Logger) {
    self.init(
      service: service, host: host, port: port, logger: logger, tracer: InstrumentationSystem.tracer
    )
  }

  init(
    service: SpaceService, host: String = "127.0.0.1", port: Int, logger: Logger,
    tracer: any Tracer
  ) {
    self.service = service
    self.tracer = tracer
    queue = StoreQueue(
      writesAtOnce: service.store.concurrentUpdates,
      waitingPerSpace: service.limits.waitingPerSpace, tracer: tracer)
    authorizer = TokenAuthorizer(service: service, queue: queue)
    processors = ProcessorAccounts(allowance: service.limits.processorPerToken)
    self.host = host
    self.port = port
    self.logger = logger
  }

  /// Serves until the task is cancelled or shut down gracefully. Then `/ready` fails, and after
  /// ``drainDelay`` event streams end, open requests are answered, and this returns.
  ///
  /// - Throws: ``ListenError`` when the address can't be had; ``TLSFilesError``.
  public func run() async throws {
    var service = service
    service.makesSpaces = false
    let maintenance = Maintenance(
      service: service, queue: queue, interval: maintenanceInterval, metrics: metrics,
      logger: logger)
    let heads = HeadReader(
      service: service, queue: queue, times: streamTimes, metrics: metrics, logger: logger)
    let relay = AnnouncementRelay(heads: heads, logger: logger)
    let grants = GrantWatch(
      service: service, queue: queue, authorizer: authorizer, times: streamTimes, logger: logger)
    let statistics = StatisticsReader(
      service: service, queue: queue, metrics: metrics, repeats: admin != nil, logger: logger)
    let certificate = try await queue.read { [tls] in try tls.map { try ServerCertificate($0) } }
    let ready = ReadyCheck()
    let board = service.board
    let group = ServiceGroup(
      configuration: .init(
        services: try services(maintenance, ready, certificate), logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { await maintenance.run() }
      tasks.addTask { await heads.run() }
      tasks.addTask { await relay.run() }
      tasks.addTask { await grants.run() }
      tasks.addTask { [heartbeat] in await Heartbeat(board: board, interval: heartbeat).run() }
      tasks.addTask { await statistics.run() }
      if let certificate { tasks.addTask { await keepUp(certificate) } }
      if admin != nil {
        tasks.addTask { [queue, store = service.store] in
          await ready.run {
            try await queue.read { _ = try store.token(TokenDigest(token: "")) }
          }
        }
      }
      defer { tasks.cancelAll() }
      try await group.run()
    }
  }

  /// Serves until one of `signals`. After ``drainDelay`` and ``streamDrainTime`` open requests have
  /// 20 seconds, and what does not heed that they are over 10 more. After that the process traps,
  /// as nothing is left to save: what was acknowledged is on the disk.
  ///
  /// - Parameter signals: SIGTERM and SIGINT, unless you say others.
  public func run(until signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
    var configuration = ServiceGroupConfiguration(
      services: [self], gracefulShutdownSignals: signals, logger: logger)
    // A client that takes no answer must not hold up the shutdown for ever.
    configuration.maximumGracefulShutdownDuration = drainDelay + streamDrainTime + .seconds(20)
    configuration.maximumCancellationDuration = .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
  }

  /// The last ends first: whoever watches sees the end of the others.
  private func services(
    _ maintenance: Maintenance, _ ready: ReadyCheck, _ certificate: ServerCertificate?
  ) throws -> [any Service] {
    let connections = ConnectionBook(
      limit: service.limits.connections, limitPerAddress: service.limits.connectionsPerAddress)
    let devices = Listening(
      base: try application(maintenance, connections, certificate), host: host, port: port,
      options: "--")
    let drain = Drain(
      board: service.board, ready: ready, delay: drainDelay, streamTime: streamDrainTime,
      random: random)
    guard let admin else { return [devices, drain] }
    let report = ServerReport(
      service: service, queue: queue, metrics: metrics, ready: ready, connections: connections,
      received: received, sent: sent)
    let responder = AdminResponder(
      isReady: { ready.isReady }, metrics: { report.text },
      api: admin.operators.map { api(for: $0, maintenance) },
      dashboard: admin.servesDashboard ? AdminDashboard() : nil)
    let tls = admin.usesTLS ? certificate?.configuration : nil
    let watchers = Listening(
      base: try admin.application(responder, tls, logger) { [RefusedBody()] }, host: admin.host,
      port: admin.port, options: "--admin-")
    return [watchers, devices, drain]
  }

  private func api(for operators: OperatorTokens, _ maintenance: Maintenance) -> AdminAPI {
    AdminAPI(
      service: service, queue: queue, operators: operators,
      tidy: { space in
        if let space { maintenance.ask(for: space) } else { maintenance.askForRemoved() }
      }, logger: logger)
  }

  /// Shows new files where they are put in place of the certificate's.
  private func keepUp(_ certificate: ServerCertificate) async {
    let failure: Logger.Message =
      "the certificate can't be read again, and the one of before is shown"
    await PeriodicCheck(
      failure: failure, times: .init(interval: certificateInterval), logger: logger
    ) {
      try await queue.read { try certificate.reload() }
    } onSilence: {
    }.run()
  }

  /// Hummingbird's server, and not its `Application`, whose frames would stay with each event
  /// stream.
  private func application(
    _ maintenance: Maintenance, _ connections: ConnectionBook, _ certificate: ServerCertificate?
  ) throws -> any Service {
    // A body that is too late is refused first, where there is something left of it to read.
    let limits = service.limits
    let requestTime = limits.bodyTime + idleTimeout
    let handlers = { @Sendable [idleTimeout] () -> [any RemovableChannelHandler] in
      let watch = ConnectionWatch(
        writeTime: idleTimeout, requestTime: requestTime, headTime: limits.headTime,
        connections: connections)
      return [watch, RefusedBody()]
    }
    let responder = ObservedResponder(
      base: SyncResponder(
        maintenance: maintenance, authorizer: authorizer, received: received, sent: sent,
        connections: connections, processors: processors, metrics: metrics),
      slowRequestTime: slowRequestTime, tracer: tracer, logger: logger)
    let http = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: handlers(), idleTimeout: TimeAmount(idleTimeout)))
    let server = try certificate.map { try .tls(http, tlsConfiguration: $0.configuration) } ?? http
    return try server.buildServer(
      configuration: ServerConfiguration(
        address: .hostname(host, port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)),
      eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger
    ) { request, writer, channel in
      let response = try await responder.respond(to: request, on: channel)
      do {
        try await writer.write(response: response.head, body: response.body)
      } catch is HTTPParserError {
        // Hummingbird answers this error, and this request has its answer.
        throw ChannelError.ioOnClosedChannel
      }
    } onServerRunning: { [onListening] channel in
      await onListening(channel.localAddress?.port ?? 0)
    }
  }
}
#endif
