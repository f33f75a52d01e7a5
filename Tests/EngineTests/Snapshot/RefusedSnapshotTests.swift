#if Server
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// A remote that would like a snapshot, and a device that can't give it: another device may.
@Suite("Snapshot: a snapshot that a device can't give", .timeLimit(.minutes(1)))
struct RefusedSnapshotTests {
  private static var limits: ServerLimits {
    var limits = ServerLimits()
    limits.operationsPerSnapshot = 3
    return limits
  }

  /// A remote that refuses each snapshot.
  private struct Refusing: Remote {
    let remote: any Remote
    let code: RemoteError.Code

    var id: String { remote.id }
    var keepsSnapshots: Bool { remote.keepsSnapshots }
    func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
      try await remote.greet(as: replica)
    }
    func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
      try await remote.push(operations)
    }
    func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage
    { try await remote.pull(after: cursor, excluding: excluded) }
    func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
      remote.positions(after: cursor)
    }
    func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
      throw RemoteError(code, "not this one")
    }
  }

  /// So many that the server asks at the next greeting.
  private func write(_ phone: Device) async throws {
    for id in 1...5 {
      try await phone.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
      try phone.replica.store.seal()
    }
    try await phone.syncOnce()
    #expect(phone.engine.status.current.snapshotError == nil)
  }

  @Test func `a row too long to travel fails no single sync, and is told`() async throws {
    try await Server.run(Server.memoryStore(seed: 1), limits: Self.limits) { server in
      let phone = try await Device(server.port)
      try await write(phone)
      try await phone.execute("INSERT INTO item VALUES ('long', hex(zeroblob(9000000)), 1)")
      for _ in 1...2 {
        try await phone.syncOnce()
        let status = phone.engine.status.current
        #expect(status.phase == .upToDate && status.lastError == nil)
        #expect(status.snapshotError?.message.contains("item") == true)
      }
      try await phone.execute("DELETE FROM item WHERE id = 'long'")
      try await phone.syncOnce()
      #expect(phone.engine.status.current.snapshotError == nil)
      #expect(try server.service.greet(SpaceName(Server.space)).snapshot != nil)
    }
  }

  @Test(
    "what the remote says of a snapshot that it would have liked fails no single sync",
    arguments: [RemoteError.Code.snapshotSuperseded, .snapshotConflict, .cursorUnknown])
  func refusal(_ code: RemoteError.Code) async throws {
    try await Server.run(Server.memoryStore(seed: 1), limits: Self.limits) { server in
      let phone = try await Device { _ in
        [Refusing(remote: try Server.remote(port: server.port), code: code)]
      }
      try await write(phone)
      try await phone.syncOnce()
      let status = phone.engine.status.current
      #expect(status.phase == .upToDate && status.lastError == nil)
      #expect(status.snapshotError?.code == (code == .snapshotSuperseded ? nil : code))
      // Another device gives it.
      let other = try await Device(server.port)
      for _ in 1...2 { try await other.syncOnce() }
      #expect(try server.service.greet(SpaceName(Server.space)).snapshot != nil)
      try await phone.syncOnce()
      #expect(phone.engine.status.current.snapshotError == nil)
    }
  }
}
#endif
