#if Server
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The scan service on this machine, over HTTP/1.1. It is a `Service`.
public struct RecognizerApplication: Service {
  /// Blocks its thread, and calls `found` with each book of the photo.
  public typealias Read = @Sendable (_ photo: [UInt8], _ found: (Finding) -> Void) throws -> Void

  /// 0 for a free port, which ``onListening`` is told.
  public var port = 0
  public var limits = ScanLimits()
  public var clock = ScanClock.system
  public var misbehaviour: [Misbehaviour] = []
  /// How many photos are read at the same time.
  public var photosAtOnce = 2
  public var logger: Logger
  /// Called with the port, when connections are accepted.
  public var onListening: @Sendable (Int) async -> Void = { _ in }
  private let read: Read

  public init(logger: Logger, read: @escaping Read) {
    self.logger = logger
    self.read = read
  }

  /// One that reads photos with a reader, each once, and logs warnings to standard error.
  public init(_ reader: PhotoReader) {
    var logger = Logger(label: "recognizer") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    let memory = PhotoMemory { try reader.read($0, found: $1) }
    self.init(logger: logger) { try memory.read($0, found: $1) }
  }

  /// Serves until the task is cancelled or shut down gracefully; streams end then, and what is not
  /// recognized yet is forgotten.
  public func run() async throws {
    let board = ScanBoard(limits: limits, clock: clock) {
      var generator = SystemRandomNumberGenerator()
      return (0..<2).map { _ in
        let digits = String(generator.next() as UInt64, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }.joined()
    }
    let mischief = Mischief(misbehaviour)
    let bench = Workbench(
      board: board, mischief: mischief, clock: clock, width: photosAtOnce, logger: logger,
      read: read)
    let application = Application(
      responder: ScanResponder(board: board, bench: bench, mischief: mischief, clock: clock),
      server: .http1(configuration: .init(idleTimeout: .seconds(75))),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { [onListening] channel in
        await onListening(channel.localAddress?.port ?? 0)
      },
      logger: logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await bench.run() }
      defer { group.cancelAll() }
      do {
        try await application.run()
      } catch let error as IOError {
        throw ListenError(port: port, reason: String(cString: strerror(error.errnoCode)))
      }
    }
  }

  /// Serves for as long as `body` runs, which is told where, and is cancelled if the service fails.
  ///
  /// - Throws: what `body` throws, or what ended the service.
  public func serving(_ body: @escaping @Sendable (URL) async throws -> Void) async throws {
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var application = self
    application.onListening = { [onListening] number in
      await onListening(number)
      port.yield(number)
    }
    try await withThrowingTaskGroup(of: Void.self) { [application] tasks in
      tasks.addTask {
        defer { port.finish() }
        try await application.run()
      }
      for await number in ports {
        let url = URL(string: "http://127.0.0.1:\(number)")!
        tasks.addTask { try await body(url) }
        break
      }
      // The service does not end first, unless something ended it.
      try await tasks.next()
      tasks.cancelAll()
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
#endif
