#if Server
import ArgumentParser
import Foundation
import Logging
@_spi(Rehearsal) import TernCore
import TernServer

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serve the spaces of a data file or database until SIGTERM or SIGINT.",
    discussion: "It speaks TLS with a certificate of yours, or plain HTTP on this machine, where a "
      + "proxy with TLS can stand before it. "
      + "Each option can also be given by a variable, such as TERN_ADMIN_PORT for --admin-port, or "
      + "in the file that --config names, which is a JSON object: {\"admin-port\": 9090}. The "
      + "command line counts before the environment, and that before the file.")

  @OptionGroup var options: DataOptions

  @Option(help: "A file of settings. A key that is no option's name is refused.")
  var config: String?

  @Option(help: "The address to listen on.")
  var host = "127.0.0.1"

  @Option(help: "The port to listen on; 0 for a free one.")
  var port = 8080

  @Option(
    help: ArgumentHelp(
      "The database's address without a pool between, to hear other servers' pushes at once.",
      discussion: "Without it they are found once a second."))
  var listenURL: String?

  @Flag(
    help: ArgumentHelp(
      "Have the database keep the statements, which takes half the work from it.",
      discussion: "Not through a pool that gives each transaction another connection, unless it "
        + "keeps track of prepared statements."))
  var preparedStatements = false

  @Option(help: "The address for /health, /ready and /metrics.")
  var adminHost = "127.0.0.1"

  @Option(help: "The port for these, 0 for a free one. Without it there is no such listener.")
  var adminPort: Int?

  @Option(
    help: ArgumentHelp(
      "Serve /v1/admin there to operators: a file with a line for each token.",
      discussion: "Only its owner may read it. 'tern operator create' makes tokens and lines."))
  var operatorTokens: String?

  @Flag(
    help: ArgumentHelp(
      "Serve a page there, at /dashboard/, on which operators look at the spaces.",
      discussion: "It asks for an operator's token and changes nothing."))
  var dashboard = false

  @Flag(help: "Speak TLS on the admin address too, with the same certificate.")
  var adminTLS = false

  @Option(help: "Seconds to go on with /ready failing before the end, for a load balancer.")
  var drainDelay = 0

  @Option(help: "Seconds in which all event streams end, if they are more than 200 a second.")
  var streamDrainTime = 10

  @Option(help: "What the log tells: trace, debug, info, notice, warning, error or critical.")
  var logLevel = "warning"

  @Option(help: "The log's form: text, or json for an object a line.")
  var logFormat = "text"

  @Option(help: "Log requests that take so many milliseconds; 0 for none.")
  var slowRequest = 0

  @Option(help: "Log statements of the store that take so many milliseconds; 0 for none.")
  var slowStatement = 0

  @Option(help: "The most bytes that a space may store, unpacked; see 'tern space quota'.")
  var spaceBytes = ServerLimits().bytesPerSpace

  @Option(help: "The most operations that a space may store; see 'tern space quota'.")
  var spaceOperations = ServerLimits().operationsPerSpace

  @Option(help: "The bytes of disk to keep free. With less, the server stores nothing new.")
  var reserveBytes = ServerLimits().diskReserveBytes

  @Option(help: "How many seconds of processor time one token's requests may take in a minute.")
  var processorPerToken = Int(ServerLimits().processorPerToken.components.seconds)

  @Option(help: "The most connections, of which event streams may be three quarters.")
  var connections = ServerLimits().connections

  @Option(help: "The most connections from one address. Behind a proxy, all come from one.")
  var connectionsPerAddress: Int?

  @OptionGroup var tls: TLSOptions

  #if JWTs
  @OptionGroup var jwt: JWTOptions
  #endif

  func validate() throws {
    if let listenURL {
      guard options.isDatabase else {
        throw ValidationError("--listen-url is for a database; --data names a file")
      }
      try DataOptions.checkPassword(in: listenURL, "--listen-url")
    }
    guard options.isDatabase || !preparedStatements else {
      throw ValidationError("--prepared-statements is for a database; --data names a file")
    }
    guard connections >= 1 else { throw ValidationError("--connections is a number from 1") }
    if let connectionsPerAddress, connectionsPerAddress < 1 {
      throw ValidationError("--connections-per-address is a number from 1")
    }
    guard (1...86_400).contains(processorPerToken) else {
      throw ValidationError("--processor-per-token is a number from 1 to 86400")
    }
    for (option, value) in [
      ("space-bytes", spaceBytes), ("space-operations", spaceOperations),
      ("reserve-bytes", reserveBytes),
    ] where value < 0 {
      throw ValidationError("--\(option) is 0 or more")
    }
    guard (0...65_535).contains(port) else {
      throw ValidationError("--port is a number from 0 to 65535")
    }
    for (option, value) in [
      ("drain-delay", drainDelay), ("stream-drain-time", streamDrainTime),
    ] where !(0...3_600).contains(value) {
      throw ValidationError("--\(option) is a number of seconds from 0 to 3600")
    }
    guard Logger.Level(rawValue: logLevel) != nil else {
      let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
      throw ValidationError("--log-level is one of \(levels)")
    }
    guard ["text", "json"].contains(logFormat) else {
      throw ValidationError("--log-format is text or json")
    }
    for (option, value) in [("slow-request", slowRequest), ("slow-statement", slowStatement)]
    where value < 0 {
      throw ValidationError("--\(option) is a number of milliseconds, or 0 for none")
    }
    if let adminPort, !(0...65_535).contains(adminPort) {
      throw ValidationError("--admin-port is a number from 0 to 65535")
    }
    guard operatorTokens == nil || adminPort != nil else {
      throw ValidationError("--operator-tokens is for the listener that --admin-port opens")
    }
    guard operatorTokens != nil || !dashboard else {
      throw ValidationError(
        "--dashboard is for operators: give it --operator-tokens, and see 'tern operator create'")
    }
  }

  func run() async throws {
    CrashPoint.armFromEnvironment()
    let files = try tls.files(host: host)
    try tls.checkOperators(host: adminHost, operatorTokens, usesTLS: adminTLS)
    let operators = try operatorTokens.map { try OperatorTokens(path: $0) }
    // Any number of processes serve a database, and one a file.
    let lock = options.isDatabase ? nil : try ServingLock(dataPath: options.data)
    defer { lock?.release() }
    let logger = makeLogger()
    let slowStatements = SlowStatements(threshold: .milliseconds(slowStatement)) { sql, time in
      logger.warning(
        "slow statement", metadata: ["sql": "\(sql)", "seconds": "\(time / .seconds(1))"])
    }
    let data = try options.open(
      checkpoints: true, listeningAt: listenURL, preparesStatements: preparedStatements,
      slowStatements: slowStatement > 0 ? slowStatements : nil)
    defer { data.close() }
    if !options.isDatabase, let complaint = SQLiteSpaceStore.complaint(of: options.data) {
      logger.warning("\(complaint)", metadata: ["file": "\(options.data)", "try": "chmod 600"])
    }
    var limits = ServerLimits()
    (limits.connections, limits.streams) = (connections, connections * 3 / 4)
    limits.fitOpenFiles()
    if limits.connections < connections {
      logger.warning(
        "fewer files may be open than there may be connections",
        metadata: ["connections": "\(limits.connections)", "try": "ulimit -n \(connections + 128)"])
    }
    if let connectionsPerAddress { limits.connectionsPerAddress = connectionsPerAddress }
    (limits.bytesPerSpace, limits.operationsPerSpace) = (spaceBytes, spaceOperations)
    limits.diskReserveBytes = reserveBytes
    limits.processorPerToken = .seconds(processorPerToken)
    if options.isDatabase, listenURL == nil {
      logger.notice("other servers' pushes are found once a second: there is no --listen-url")
    }
    let service = SpaceService(
      store: data.store, clock: data.store.clock, limits: limits,
      disk: options.isDatabase ? .unlimited : .holding(options.data))
    if !options.isDatabase { try prepareDisk(service, logger) }
    var server = TernServerApplication(service: service, host: host, port: port, logger: logger)
    #if JWTs
    if let authorizer = try await jwt.authorizer(service) { server.authorizer = authorizer }
    #endif
    server.tls = files
    let scheme = files == nil ? "http" : "https"
    server.onListening = { [host] port in Self.tell("listening on \(scheme)", host, port) }
    if slowRequest > 0 { server.slowRequestTime = .milliseconds(slowRequest) }
    server.drainDelay = .seconds(drainDelay)
    server.streamDrainTime = .seconds(streamDrainTime)
    if let adminPort {
      var admin = AdminListener(host: adminHost, port: adminPort)
      (admin.operators, admin.usesTLS, admin.servesDashboard) = (operators, adminTLS, dashboard)
      let scheme = adminTLS ? "https" : "http"
      admin.onListening = { [adminHost, dashboard] port in
        Self.tell("metrics on \(scheme)", adminHost, port)
        if dashboard { Self.tell("dashboard on \(scheme)", adminHost, port, "/dashboard/") }
      }
      server.admin = admin
    }
    try await server.run(until: [.sigterm, .sigint])
  }

  private func makeLogger() -> Logger {
    let level = Logger.Level(rawValue: logLevel) ?? .warning
    guard logFormat == "json" else {
      var logger = Logger(label: "tern") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = level
      return logger
    }
    return Logger(label: "tern") { _ in
      JSONLogHandler(level: level, now: { Date() }, Self.log)
    }
  }

  /// Where nobody takes the log, the server goes on without it.
  private static func log(_ line: String) {
    var rest = Array(line.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      guard count > 0 || errno == EINTR else { return }
      rest = rest.dropFirst(max(0, count))
    }
  }

  private static func tell(_ what: String, _ host: String, _ port: Int, _ path: String = "") {
    let name = host.contains(":") ? "[\(host)]" : host
    print("tern: \(what)://\(name):\(port)\(path)")
    // Whoever started this waits for the line, and a pipe would keep it in a buffer.
    fflush(nil)
  }

  private func prepareDisk(_ service: SpaceService, _ logger: Logger) throws {
    if let shortage = try service.shortage() {
      return logger.warning(
        "serving read-only until the disk has room",
        metadata: ["why": "\(shortage)", "try": "tern space delete, or remove other files"])
    }
    do {
      try ReserveFile(dataPath: options.data).make()
    } catch {
      logger.warning(
        "without a reserve file, nothing can be deleted once the disk is full",
        metadata: ["file": "\(options.data)-reserve", "why": "\(error)"])
    }
  }
}
#endif
