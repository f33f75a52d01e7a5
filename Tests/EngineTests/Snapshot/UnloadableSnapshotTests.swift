#if Server
import Foundation
import Tern
import TernServer
import TestDevice
import Testing

/// INV-09: what a device cannot load it does not fetch again and again.
@Suite("Snapshot: snapshots that a device cannot load", .timeLimit(.minutes(2)))
struct UnloadableSnapshotTests {
  /// A folder, and a server that trimmed what a snapshot of a device with that schema stands for.
  private func withServer(
    schemaVersion: UInt32 = 1,
    _ body: @escaping (_ server: Server, _ parts: Int, _ path: String) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "/tern-unloadable-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var limits = ServerLimits()
    (limits.operationsPerSnapshot, limits.retention) = (3, .zero)
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let a = try await Device(schemaVersion: schemaVersion, logRetention: .seconds(-60)) { _ in
        [try Server.remote(port: server.port)]
      }
      for id in 1...5 {
        try await a.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
        try a.replica.store.seal()
      }
      for _ in 1...2 { try await a.syncOnce() }
      let greeting = try server.service.greet(SpaceName(Server.space))
      #expect(greeting.trimmed > 0)
      try await body(server, try #require(greeting.snapshot?.parts), folder + "/app.sqlite")
    }
  }

  @Test func `one of a newer schema is fetched once, until the app is updated`() async throws {
    try await withServer(schemaVersion: 2) { server, parts, path in
      let counter = Counter()
      func phone(_ schemaVersion: UInt32) async throws -> Device {
        try await Device(path: path, schemaVersion: schemaVersion) { _ in
          [CountingRemote(try Server.remote(port: server.port), counter)]
        }
      }
      // The second as the next process finds it.
      for _ in 1...2 {
        let old = try await phone(1)
        for _ in 1...3 {
          let error = await #expect(throws: SnapshotError.self) { try await old.syncOnce() }
          #expect(error?.code == .schemaMismatch)
          #expect(old.engine.status.current.lastError?.code == .snapshotUnloadable)
        }
        #expect(counter.value == parts)
        try await Device.run([old]) {
          await old.waitForStatus { $0.lastError?.code == .snapshotUnloadable }
        }
      }
      let updated = try await phone(2)
      try await updated.syncOnce()
      #expect(counter.value == parts)
      #expect(try await updated.column("SELECT count(*) FROM item") == ["5"])
    }
  }

  @Test func `one that the remote gives damaged is fetched once by an engine, up to the damage`()
    async throws
  {
    try await withServer { server, _, _ in
      let counter = Counter()
      let b = try await Device { _ in
        let remote = try Server.remote(port: server.port)
        return [CountingRemote(remote, counter) { $0.dropLast() + [~$0.last!] }]
      }
      for _ in 1...3 { await #expect(throws: WireError.self) { try await b.syncOnce() } }
      #expect(counter.value == 1)
    }
  }

  @Test func `one that is ahead of all clocks is loaded once they are right, and fetched once`()
    async throws
  {
    try await withServer { server, parts, path in
      let (counter, greetings) = (Counter(), Counter())
      let hour: Int64 = 3_600_000
      let b = try await Device(path: path, clockOffset: -hour) { _ in
        let remote = try Server.remote(port: server.port)
        return [
          CountingRemote(
            remote, counter,
            didGreet: {
              // The server's clock, too, is put right before the third.
              guard greetings.next() <= 2 else { return }
              $0.now! -= 3600
              $0.newest = nil
            })
        ]
      }
      for _ in 1...2 {
        let error = await #expect(throws: SnapshotError.self) { try await b.syncOnce() }
        #expect(error?.code == .timeAhead)
        #expect(b.engine.status.current.lastError?.code == .snapshotUnloadable)
      }
      try await b.syncOnce()
      #expect(counter.value == parts)
      #expect(try await b.column("SELECT count(*) FROM item") == ["5"])
    }
  }

  @Test func `one whose parts were damaged here is fetched again at once`() async throws {
    try await withServer(schemaVersion: 2) { server, parts, path in
      let counter = Counter()
      func phone(_ schemaVersion: UInt32) async throws -> Device {
        try await Device(path: path, schemaVersion: schemaVersion) { _ in
          [CountingRemote(try Server.remote(port: server.port), counter)]
        }
      }
      await #expect(throws: SnapshotError.self) { try await phone(1).syncOnce() }
      let folder = (path as NSString).deletingLastPathComponent
      let name = try FileManager.default.contentsOfDirectory(atPath: folder)
        .first { $0.hasSuffix(".parts") }
      let url = URL(filePath: folder + "/" + (try #require(name)))
      var bytes = try Data(contentsOf: url)
      bytes[bytes.count - 1] = ~bytes[bytes.count - 1]
      try bytes.write(to: url)
      let updated = try await phone(2)
      try await updated.syncOnce()
      #expect(counter.value == parts * 2)
      #expect(try await updated.column("SELECT count(*) FROM item") == ["5"])
    }
  }
}
#endif
