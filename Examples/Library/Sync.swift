import Dispatch
import ExampleService
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
    // With a token it is a server's address that lacks its scheme, rather than a folder's name.
    let isPath = !text.contains("://") && !arguments.has("token") && !arguments.has("token-file")
    if let folder = isPath ? URL(filePath: text) : URL(string: text), folder.isFileURL {
      return DirectoryRemote(folder, space: space, replica: replica)
    }
    guard let url = ServiceAddress.url(text) else { throw Usage("that is no URL: \(text)") }
    let found = try ServerToken.find(
      arguments.text("token"), file: arguments.text("token-file"))
    guard let token = found else {
      throw Usage("a server needs a token, in TERN_TOKEN or in a --token-file")
    }
    return HTTPRemote(url, space: space, token: { token }, over: meter)
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
    let work = Task {
      try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { await engine.run() }
        tasks.addTask {
          try await edits()
          say("edits: done")
        }
        try await tasks.waitForAll()
      }
    }
    let signals = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { work.cancel() }
      source.activate()
      return source
    }
    do { try await work.value } catch is CancellationError {}
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
        + "held=\(counts.quarantined) conflicts=\(conflicts) \(bytes)")
  }

  private var bytes: String { "sent=\(meter.bytes.sent) received=\(meter.bytes.received)" }
}
