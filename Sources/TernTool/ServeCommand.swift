#if Server
import ArgumentParser
import Foundation
import Logging
@_spi(Rehearsal) import TernCore
import TernDatabase
import TernServer

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve the spaces of a data file until SIGTERM or SIGINT.",
    discussion: "Speaks plain HTTP: put a proxy with TLS before it, or keep it on this machine.")

  @OptionGroup var options: DataOptions

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 for a free one.")
  var port = 8080

  func validate() throws {
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is a number from 0 to 65535")
    }
  }

  func run() async throws {
    CrashPoint.armFromEnvironment()
    let lock = try ServingLock(dataPath: options.data)
    defer { lock.release() }
    let store = try options.open(checkpoints: true)
    defer { try? store.close() }
    var logger = Logger(label: "tern") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    if let complaint = OwnerOnly.complaint(of: options.data) {
      logger.warning("\(complaint)", metadata: ["file": "\(options.data)", "try": "chmod 600"])
    }
    var limits = ServerLimits()
    limits.fitOpenFiles()
    var server = TernServerApplication(
      service: SpaceService(store: store, clock: .system, limits: limits), host: host, port: port,
      logger: logger)
    server.onListening = { [host] port in
      let name = host.contains(":") ? "[\(host)]" : host
      print("tern: listening on http://\(name):\(port)")
      // Whoever started this waits for the line, and a pipe would keep it in a buffer.
      fflush(nil)
    }
    try await server.run(until: [.sigterm, .sigint])
  }
}
#endif
