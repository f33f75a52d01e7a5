import Dispatch
import Foundation
import Tern

/// `library sync`: once, or for as long as the program runs, as an app would.
struct Sync {
  let replica: Replica
  let engine: SyncEngine
  let meter = Metered()

  init(_ replica: Replica, _ arguments: Arguments) throws {
    self.replica = replica
    engine = SyncEngine(
      replica, remote: try Self.remote(replica, arguments, meter),
      environment: SyncEnvironment(pushBytes: try arguments.number("push-bytes") ?? 1 << 20))
  }

  /// A server's URL, or a folder that devices share.
  private static func remote(
    _ replica: Replica, _ arguments: Arguments, _ meter: Metered
  ) throws -> any Remote {
    let text = try arguments.argument(0, "URL or folder")
    let space = try arguments.required("space")
    let url = text.contains(":") ? URL(string: text) : URL(filePath: text)
    guard let url else { throw Usage("that is no URL: \(text)") }
    if url.isFileURL { return DirectoryRemote(url, space: space, replica: replica) }
    let token = try arguments.required("token")
    return HTTPRemote(url, space: space, token: { token }, transport: meter)
  }

  func once() async throws {
    let account = Task { await tell() }
    defer { account.cancel() }
    try await engine.syncOnce()
    try await conclude()
  }

  /// Until SIGTERM or SIGINT; meanwhile `edits`, if there are any.
  func run(_ edits: @escaping @Sendable () async throws -> Void) async throws {
    let account = Task { await tell() }
    defer { account.cancel() }
    let syncing = Task { await engine.run() }
    let signals = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { syncing.cancel() }
      source.activate()
      return source
    }
    try await edits()
    say("edits: done")
    await syncing.value
    for source in signals { source.cancel() }
    try await conclude()
  }

  private func tell() async {
    for await status in engine.status.updates where status.phase != .stopped {
      var line =
        "sync: \(status.phase.rawValue) pushed=\(status.pushed) waiting=\(status.unpushed) "
        + "pulled=\(status.pulled) \(bytes)"
      if let error = status.lastError { line += " error=\(error)" }
      say(line)
    }
  }

  private func conclude() async throws {
    let status = engine.status.current
    let counts = try await replica.counts()
    let conflicts = counts.conflicts.values.reduce(0, +)
    say(
      "synced: pushed=\(status.pushed) pulled=\(status.pulled) waiting=\(status.unpushed) "
        + "held=\(counts.heldAside) conflicts=\(conflicts) \(bytes)")
  }

  private var bytes: String { "sent=\(meter.bytes.sent) received=\(meter.bytes.received)" }
}
