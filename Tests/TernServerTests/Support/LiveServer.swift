#if Server
import Foundation
import Logging
import ServiceLifecycle
import TernCore
import Testing
import Tracing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A server that listens on a free port of this machine, over a store in memory.
struct LiveServer {
  let service: SpaceService
  let port: Int
  /// Opens the space `home`.
  let token: String
  let group: ServiceGroup
  let application: TernServerApplication
  /// Where whoever watches it asks; `nil` unless ``run`` was told to watch.
  let adminPort: Int?

  /// Runs `body` against a server, then shuts it down gracefully and waits for its end.
  ///
  /// - Parameters:
  ///   - isWatched: whether it has a listener for whoever watches it.
  ///   - adminPort: where it listens for them.
  ///   - operators: who may change spaces and tokens there, where it is so.
  ///   - jitter: in place of what is random, from 0 to 1.
  static func run(
    heartbeat: Duration = .seconds(15), idle: Duration = .seconds(75),
    maintenance: Duration = .seconds(3600), streams: PeriodicCheck.Times = .init(),
    limits: ServerLimits = .init(), clock: HandClock = .init(),
    store: (any SpaceStore)? = nil, token known: String? = nil, processor: ProcessorClock? = nil,
    isWatched: Bool = false, adminPort: Int = 0, operators: OperatorTokens? = nil,
    adminUsesTLS: Bool = false, drainDelay: Duration = .zero,
    streamDrainTime: Duration = .seconds(10), jitter: Double? = nil,
    authorizer: ((SpaceService) async throws -> any Authorizer)? = nil,
    tls: TLSFiles? = nil, logger: Logger? = nil, slowRequestTime: Duration? = nil,
    tracer: any Tracer = NoOpTracer(),
    _ body: (LiveServer) async throws -> Void
  ) async throws {
    var generator = SeededGenerator(state: 11)
    let store = store ?? MemorySpaceStore(using: &generator)
    let service = SpaceService(store: store, clock: clock.clock, limits: limits)
    let token = try known ?? service.createToken(for: .home, using: &generator)
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let logger = logger ?? Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    var server = TernServerApplication(
      service: service, port: 0, logger: logger, tracer: tracer)
    if let processor {
      server.processors = ProcessorAccounts(allowance: limits.processorPerToken, clock: processor)
    }
    if let authorizer { server.authorizer = try await authorizer(service) }
    server.heartbeat = heartbeat
    server.streamTimes = streams
    (server.tls, server.certificateInterval) = (tls, .milliseconds(10))
    server.idleTimeout = idle
    server.maintenanceInterval = maintenance
    server.onListening = {
      continuation.yield($0)
      continuation.finish()
    }
    let (adminPorts, adminContinuation) = AsyncStream.makeStream(of: Int.self)
    if isWatched {
      var admin = AdminListener(port: adminPort)
      (admin.operators, admin.usesTLS) = (operators, adminUsesTLS)
      admin.onListening = { adminContinuation.yield($0) }
      server.admin = admin
    }
    (server.drainDelay, server.streamDrainTime) = (drainDelay, streamDrainTime)
    server.slowRequestTime = slowRequestTime
    if let jitter { server.random = { jitter } }
    let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        defer {
          continuation.finish()
          adminContinuation.finish()
        }
        try await group.run()
      }
      var hasListened = false
      for await port in ports {
        hasListened = true
        let adminPort = isWatched ? await adminPorts.first { _ in true } : nil
        try await body(
          LiveServer(
            service: service, port: port, token: token, group: group, application: server,
            adminPort: adminPort))
      }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
      #expect(hasListened)
    }
  }

  func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)")! }

  func request(
    _ path: String, method: String = "GET", token: String? = "", type: String? = nil,
    body: [UInt8]? = nil
  ) -> URLRequest {
    var request = URLRequest(url: url(path))
    request.httpMethod = method
    if let token {
      request.setValue(
        "Bearer \(token.isEmpty ? self.token : token)", forHTTPHeaderField: "Authorization")
    }
    if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
    request.httpBody = body.map { Data($0) }
    return request
  }

  func push(_ operations: [SyncOperation], to space: String = "home") async throws -> Answer {
    try await send(
      request(
        "/v1/spaces/\(space)/operations", method: "POST", type: "application/vnd.tern.batch",
        body: OperationBatch(operations).encoded()))
  }

  /// What whoever watches is answered.
  func watch(_ path: String, method: String = "GET") async throws -> Answer {
    let port = try #require(adminPort)
    var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
    request.httpMethod = method
    return try await send(request)
  }

  /// What an operator is answered.
  ///
  /// - Parameter path: behind `/v1/admin/`.
  func operate(
    _ method: String, _ path: String, token: String?, body: String? = nil,
    type: String? = "application/json"
  ) async throws -> Answer {
    let port = try #require(adminPort)
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/v1/admin/\(path)"))
    var request = URLRequest(url: url)
    request.httpMethod = method
    if let token { request.setValue(token, forHTTPHeaderField: "Authorization") }
    if let body {
      request.httpBody = Data(body.utf8)
      request.setValue(type, forHTTPHeaderField: "Content-Type")
    }
    return try await send(request)
  }

  func send(_ request: URLRequest) async throws -> Answer {
    let (body, response) = try await URLSession.shared.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    return Answer(status: response.statusCode, response: response, body: body)
  }
}

struct Answer {
  let status: Int
  let response: HTTPURLResponse
  let body: Data

  func header(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }
  var json: [String: Any] {
    (try? JSONSerialization.jsonObject(with: body) as? [String: Any]) ?? [:]
  }
  /// The code of a problem document, when that is what the whole answer is.
  var problem: String? {
    guard header("Content-Type") == "application/problem+json", json["status"] as? Int == status,
      let type = json["type"] as? String, type.hasPrefix("urn:tern:problem:"),
      (json["title"] as? String)?.isEmpty == false, (json["detail"] as? String)?.isEmpty == false
    else { return nil }
    return String(type.dropFirst("urn:tern:problem:".count))
  }
}
#endif
