import Dispatch
import Foundation
import Tern

/// `library sync`: once, or for as long as the program runs, as an app would.
struct Sync {
  let replica: Replica
  let engine: SyncEngine
  let meter = Metered()

  init(_ replica: Replica, _ arguments: Arguments) throws {
    let token = try arguments.required("token")
    guard let url = URL(string: try arguments.argument(0, "URL")) else {
      throw Usage("that is no URL: \(try arguments.argument(0, "URL"))")
    }
    self.replica = replica
    engine = SyncEngine(
      replica,
      remote: HTTPRemote(
        url, space: try arguments.required("space"), token: { token }, transport: meter),
      environment: SyncEnvironment(pushBytes: try arguments.number("push-bytes") ?? 1 << 20))
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
        "sync: \(status.phase.rawValue) pushed=\(status.pushed) waiting=\(status.waiting) "
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
      "synced: pushed=\(status.pushed) pulled=\(status.pulled) waiting=\(status.waiting) "
        + "held=\(counts.heldRows) conflicts=\(conflicts) \(bytes)")
  }

  private var bytes: String { "sent=\(meter.bytes.sent) received=\(meter.bytes.received)" }
}
