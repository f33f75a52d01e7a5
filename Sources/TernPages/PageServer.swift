#if Server
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Serves one page on this machine alone, to whoever has its token.
package struct PageServer: Sendable {
  private let files: PageFiles
  private let program: any PageProgram
  private let token: PageToken
  private let port: Int

  /// - Parameter port: 0 for a free one.
  package init(_ files: PageFiles, program: some PageProgram, token: PageToken, port: Int) {
    (self.files, self.program, self.token, self.port) = (files, program, token, port)
  }

  /// Serves until SIGTERM or SIGINT.
  ///
  /// - Parameter onListening: is told the address, with the token as its fragment: a browser sends
  ///   that to nobody.
  /// - Throws: ``PageError`` when the port can't be had.
  package func run(onListening: @escaping @Sendable (String) async -> Void) async throws {
    // A log of requests is nobody's need here.
    var logger = Logger(label: "tern.page")
    logger.logLevel = .critical
    let place = PagePlace()
    let application = Application(
      responder: PageResponder(files: files, program: program) { place.guarding },
      server: .http1(configuration: .init(idleTimeout: .seconds(75))),
      configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: port),
        availableConnectionsDelegate: MaximumAvailableConnections(64)),
      onServerRunning: { [token] channel in
        let port = channel.localAddress?.port ?? 0
        place.guarding = PageGuard(token: token, port: port)
        await onListening("http://127.0.0.1:\(port)/#\(token.text)")
      },
      logger: logger)
    var configuration = ServiceGroupConfiguration(
      services: [application], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    configuration.maximumGracefulShutdownDuration = .seconds(2)
    do {
      try await ServiceGroup(configuration: configuration).run()
    } catch let error as IOError {
      throw PageError(port: port, reason: String(cString: strerror(error.errnoCode)))
    }
  }
}

/// Where the server is, once it listens.
private final class PagePlace: Sendable {
  private let state = Mutex<PageGuard?>(nil)

  var guarding: PageGuard? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

/// Why a page can't be served.
package struct PageError: Error, Hashable, CustomStringConvertible {
  package let port: Int
  /// What the system said.
  package let reason: String

  package var description: String {
    "can't listen on 127.0.0.1:\(port): \(reason); choose another --port, or none for a free one"
  }
}
#endif
