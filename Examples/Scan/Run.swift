#if Server
import ArgumentParser
import Foundation
import GRDB
import Tern

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Scan what waits, and what is added meanwhile, until stopped.")

  @OptionGroup var file: DataFile
  @Option(help: "A service that speaks the scan contract; without one `recognizer` is started.")
  var service: String?
  @Option(help: "The recognizer's catalogue, a CSV file.") var catalogue: String?
  @Option(help: "A Tern server with which the library syncs.") var sync: String?
  @Option(help: "The space on that server.") var space = "home"
  @Option(help: "Its token; without it, TERN_TOKEN in the environment.") var token: String?
  @Flag(help: "Stop when nothing can be done any more.") var once = false
  @Option(help: .hidden) var streamSeconds = 300
  /// For which a service is left alone that does not say for how long.
  @Option(help: .hidden) var pauseSeconds = 30

  func run() async throws {
    #if Rehearsal
    CrashPoint.armFromEnvironment()
    #endif
    let database = try await file.open(pause: .seconds(pauseSeconds))
    let engine = try sync.map { try syncEngine(database, $0) }
    let local = try service == nil ? Recognizer(catalogue: catalogue) : nil
    defer { local?.stop() }
    guard let url = local?.url ?? service.flatMap(URL.init) else {
      throw Refusal("--service is a URL such as http://127.0.0.1:8080")
    }
    let talaria = Talaria(
      base: url, deviceID: try await database.deviceID(), transport: SystemTransport.shared)
    let scanner = Scanner(
      database: database, service: talaria, streamLimit: .seconds(streamSeconds))
    let worker = JobWorker(database.jobs, path: SystemPath.shared) {
      $0.handle(ScanShelf.self) { try await scanner.scan($0, $1) }
      $0.handle(CleanUp.self) { try await scanner.cleanUp($0, $1) }
    }
    let working = Task { [once] in
      guard once else { return try await worker.run() }
      do {
        try await worker.drain()
        try await engine?.syncOnce()
      } catch is CancellationError {}
    }
    let syncing = Task { [once] in if !once { await engine?.run() } }
    let signals = [SIGTERM, SIGINT].map { DispatchSource.makeSignalSource(signal: $0) }
    defer { for source in signals { source.cancel() } }
    for source in signals {
      #if canImport(Darwin)
      signal(Int32(source.handle), SIG_IGN)
      #endif
      source.setEventHandler { working.cancel() }
      await withCheckedContinuation { listening in
        source.setRegistrationHandler { listening.resume() }
        source.activate()
      }
    }
    // After this first line nothing but `kill -9` ends the work in its middle.
    let telling = Task { try await tell(database) }
    let result = await working.result
    syncing.cancel()
    telling.cancel()
    await syncing.value
    for line in try await database.pool.read({ try Board(database.jobs, in: $0) })
      .lines(inColour: isatty(1) == 1)
    {
      say(line)
    }
    try result.get()
  }

  private func syncEngine(_ database: ScanDatabase, _ address: String) throws -> SyncEngine {
    guard let url = URL(string: address),
      let token = token ?? ProcessInfo.processInfo.environment["TERN_TOKEN"]
    else { throw Refusal("--sync is a URL, and needs a --token") }
    return SyncEngine(
      database.replica, remote: HTTPRemote(url, space: space, token: { token }))
  }

  /// Prints every scan's line when it changes.
  private func tell(_ database: ScanDatabase) async throws {
    var told: Set<String> = []
    let inColour = isatty(1) == 1
    let boards = ValueObservation.tracking { try Board(database.jobs, in: $0) }
    for try await board in boards.values(in: database.pool) {
      let lines = board.lines(inColour: inColour)
      for line in lines where !told.contains(line) { say(line) }
      told = Set(lines)
    }
  }
}
#endif
