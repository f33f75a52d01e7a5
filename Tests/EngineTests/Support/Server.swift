#if Server
import Foundation
import Logging
import ServiceLifecycle
import Tern
import TernNetwork
import TernServer
import TernTesting
import Testing

/// A real server on loopback for as long as `body` runs.
struct Server {
  let port: Int
  let service: SpaceService
  static let space = "home"

  /// - Parameter port: 0 takes a free one; a server that is started again takes its old one.
  static func run(
    _ store: any SpaceStore, port: Int = 0, limits: ServerLimits = ServerLimits(),
    clock: ServerClock = .system,
    _ body: (Server) async throws -> Void
  ) async throws {
    let service = SpaceService(store: store, clock: clock, limits: limits)
    // The same token for every store, so that a wiped server still lets its devices in.
    var generator = SeededGenerator(seed: 7)
    if try store.tokens().isEmpty {
      _ = try service.createToken(for: SpaceName(space), using: &generator)
    }
    let (ports, sender) = AsyncStream.makeStream(of: Int.self)
    let logger = Logger(label: "server") { _ in SwiftLogNoOpLogHandler() }
    var application = TernServerApplication(service: service, port: port, logger: logger)
    application.onListening = {
      sender.yield($0)
      sender.finish()
    }
    let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        defer { sender.finish() }
        try await group.run()
      }
      var hasListened = false
      for await port in ports {
        hasListened = true
        try await body(Server(port: port, service: service))
      }
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
      #expect(hasListened)
    }
  }

  static func memoryStore(seed: UInt64) -> MemorySpaceStore {
    var generator = SeededGenerator(seed: seed)
    return MemorySpaceStore(using: &generator)
  }

  /// Of every server here.
  static func token() throws -> String {
    var generator = SeededGenerator(seed: 7)
    let scratch = SpaceService(store: memoryStore(seed: 0), clock: .system)
    return try scratch.createToken(for: SpaceName(space), using: &generator)
  }

  static func remote(port: Int, token: String? = nil) throws -> HTTPRemote {
    let token = try token ?? Self.token()
    return HTTPRemote(
      URL(string: "http://127.0.0.1:\(port)")!, space: space, token: { token },
      over: CurlTransport.shared)
  }
}
#endif
