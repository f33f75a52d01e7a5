import Foundation
import Tern
import TernTesting
import Testing

/// What a remote may give as a snapshot, and what is left of it.
@Suite("Snapshot: what a remote may give as a snapshot", .timeLimit(.minutes(1)))
struct HostileSnapshotTests {
  private static let cursor = RemoteCursor(rawValue: "snapshot")

  /// A remote that has a snapshot alone, and what is behind it.
  private func remote(
    parts: Int, heads: VersionVector, _ part: @escaping @Sendable (Int) throws -> [UInt8]
  ) -> ScriptedRemote {
    ScriptedRemote("hostile") {
      $0.heads = heads
      $0.onGreet = { state in
        RemoteGreeting(
          epoch: "e", now: nil, position: 9, heads: state.heads,
          snapshot: RemoteSnapshot(
            id: "s", position: 9, cursor: Self.cursor, parts: parts, heads: heads))
      }
      $0.onPull = { _, cursor in
        guard cursor == Self.cursor else { throw RemoteError(.snapshotNeeded, "trimmed") }
        return PulledPage(
          operations: [], cursor: Self.cursor, hasMore: false, now: nil)
      }
      $0.onPart = part
    }
  }

  private func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "/tern-parts-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder + "/app.parts")
  }

  /// As many as may be are asked for, and one more is not begun.
  @Test(arguments: [(16_384, 1), (16_385, 0), (1_000_000_000_000, 0), (Int.max, 0)])
  func `a snapshot of more parts than may be is not fetched`(_ parts: Int, _ asked: Int)
    async throws
  {
    let meeting = try await HostileMeeting(.sqlite)
    let remote = remote(parts: parts, heads: VersionVector([Forger.id: 5])) { index in
      if index > 20 { throw RemoteError(.unreachable, "enough") }
      return [UInt8](repeating: 0, count: 1000)
    }
    let environment = SyncEnvironment(jitter: { 0 })
    let engine = SyncEngine(store: meeting.store, remote: remote, environment: environment)
    for _ in 1...3 { await #expect(throws: WireError.self) { try await engine.syncOnce() } }
    // The first part is none.
    #expect(remote.parts == asked)
    try await meeting.checkIntact()
  }

  @Test func `a fetch ends at the first part that is not as it was cut, and keeps those before`()
    async throws
  {
    try await withFolder { path in
      let author = try Shelf.device(9)
      for number in 1...3 { try author.execute("INSERT INTO shelf VALUES (?, '')", ["\(number)"]) }
      let parts = try Parts(of: author).parts
      try #require(parts.count > 2)
      for isDamaged in [true, false] {
        let device = try Shelf.device(1)
        let remote = remote(parts: parts.count, heads: try author.store.versionVector()) { index in
          isDamaged && index == 1 ? parts[index].dropLast() + [~parts[index].last!] : parts[index]
        }
        let engine = SyncEngine(
          store: device.store, remote: remote,
          environment: SyncEnvironment(jitter: { 0 }, snapshotPath: path))
        if isDamaged {
          for _ in 1...2 { await #expect(throws: WireError.self) { try await engine.syncOnce() } }
          #expect(remote.parts == 2)
        } else {
          // As the next process finds it.
          try await engine.syncOnce()
          #expect(remote.parts == parts.count - 1)
          #expect(try device.store.canonicalState() == author.store.canonicalState())
        }
        #expect(FileManager.default.fileExists(atPath: path) == isDamaged)
      }
    }
  }

  @Test func `as many bytes of a snapshot as may be are loaded, and one more is not kept`()
    async throws
  {
    try await withFolder { path in
      let author = try Shelf.device(9)
      try author.execute("INSERT INTO shelf VALUES ('1', 'one')")
      let parts = try Parts(of: author).parts
      let total = parts.reduce(0) { $0 + $1.count }
      for limit in [total - 1, total] {
        let device = try Shelf.device(1)
        let remote = remote(parts: parts.count, heads: try author.store.versionVector()) {
          parts[$0]
        }
        var environment = SyncEnvironment(jitter: { 0 }, snapshotPath: path)
        environment.snapshotBytes = limit
        let engine = SyncEngine(store: device.store, remote: remote, environment: environment)
        if limit < total {
          for _ in 1...2 {
            let error = await #expect(throws: WireError.self) { try await engine.syncOnce() }
            #expect(error?.code == .tooLarge)
          }
        } else {
          try await engine.syncOnce()
          #expect(try device.store.canonicalState() == author.store.canonicalState())
        }
        #expect(remote.parts == parts.count)
        #expect(!FileManager.default.fileExists(atPath: path))
      }
    }
  }

  @Test func `parts of a fetch that was cut short go where nothing of the snapshot is lacking`()
    async throws
  {
    try await withFolder { path in
      let meeting = try await HostileMeeting(.sqlite)
      let remote = remote(parts: 3, heads: VersionVector([HostileMeeting.friendID: 1])) { _ in
        throw RemoteError(.unreachable, "none is asked for")
      }
      try Data(repeating: 1, count: 1000).write(to: URL(filePath: path))
      let engine = SyncEngine(
        store: meeting.store, remote: remote,
        environment: SyncEnvironment(jitter: { 0 }, snapshotPath: path))
      try await engine.syncOnce()
      #expect(remote.parts == 0 && !FileManager.default.fileExists(atPath: path))
      try await meeting.checkIntact()
    }
  }
}
