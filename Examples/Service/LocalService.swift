import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// A service on this machine alone, over HTTP/1.1.
public protocol LocalService: Service {
  /// 0 for a free port, which ``onListening`` is told.
  var port: Int { get set }
  var logger: Logger { get }
  /// Called with the port, when connections are accepted.
  var onListening: @Sendable (Int) async -> Void { get set }
}

extension LocalService {
  /// Accepts connections until the task is cancelled or shut down gracefully.
  ///
  /// - Throws: ``ListenError``.
  package func listen(_ responder: some HTTPResponder<CuttableContext>) async throws {
    let application = Application(
      responder: responder, server: .http1(configuration: .init(idleTimeout: .seconds(75))),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { [onListening] channel in
        await onListening(channel.localAddress?.port ?? 0)
      },
      logger: logger)
    do {
      try await application.run()
    } catch let error as IOError {
      throw ListenError(port: port, reason: String(cString: strerror(error.errnoCode)))
    }
  }

  /// Serves for as long as `body` runs, which is told where, and is cancelled if the service fails.
  /// What is being answered then has two seconds to end.
  ///
  /// - Throws: what `body` throws, or what ended the service.
  public func serving(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var service = self
    service.onListening = { [onListening] number in
      await onListening(number)
      port.yield(number)
    }
    var configuration = ServiceGroupConfiguration(services: [service], logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(2)
    let group = ServiceGroup(configuration: configuration)
    try await withThrowingTaskGroup(of: Result<Void, any Error>.self) { tasks in
      tasks.addTask {
        defer { port.finish() }
        try await group.run()
        return .success(())
      }
      for await number in ports {
        let url = URL(string: "http://127.0.0.1:\(number)")!
        tasks.addTask {
          let result: Result<Void, any Error>
          do { result = .success(try await body(url)) } catch { result = .failure(error) }
          await group.triggerGracefulShutdown()
          return result
        }
        break
      }
      // The service does not throw, unless something ended it; else both are waited for.
      let results = try await tasks.reduce(into: []) { $0.append($1) }
      for result in results { try result.get() }
    }
  }

  /// Serves until SIGTERM or SIGINT.
  public func runUntilSignal() async throws {
    var configuration = ServiceGroupConfiguration(
      services: [self], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(20)
    try await ServiceGroup(configuration: configuration).run()
  }
}

/// Why the service could not begin to listen.
public struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
  public let port: Int
  /// What the system said.
  public let reason: String

  public var description: String {
    "can't listen on 127.0.0.1:\(port): \(reason); choose another --port"
  }
}
