import Foundation
import ReplicaStoreKit
import Synchronization
import Tern
import TernTesting
import Testing

/// Remotes that always have more to give, and nothing new: an error, or a pause, and no device that
/// is busy without end.
@Suite("Engine: remotes that answer without end", .timeLimit(.minutes(2)))
struct EndlessAnswerTests {
  private static func page(_ operations: [SyncOperation], _ pull: Int, hasMore: Bool) -> PulledPage
  {
    PulledPage(
      operations: operations, cursor: RemoteCursor(rawValue: "\(pull)"), hasMore: hasMore,
      now: Date(milliseconds: Forger.now))
  }

  /// One that gives the same operations, or none, again and again until it is told to stop.
  private func remote(_ operations: [SyncOperation]) -> (ScriptedRemote, stop: () -> Void) {
    let isEndless = Box(true)
    let remote = ScriptedRemote("endless") { state in
      state.onGreet = { state in
        RemoteGreeting(
          epoch: "e", now: state.now, position: 1, heads: VersionVector())
      }
      state.onPull = { state, _ in
        Self.page(operations, state.pulls, hasMore: isEndless.value.withLock { $0 })
      }
    }
    return (remote, { isEndless.value.withLock { $0 = false } })
  }

  private final class Box<Value: Sendable>: Sendable {
    let value: Mutex<Value>
    init(_ value: Value) { self.value = Mutex(value) }
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `empty pages with ever new cursors end by name, and the next sync begins normally`(
    _ kind: ReplicaStoreKind
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    let (remote, stop) = remote([])
    for round in 1...2 {
      let error = await #expect(throws: RemoteError.self) { try await meeting.sync(with: remote) }
      #expect(error?.code == .unexpectedAnswer && error?.message.contains("endless") == true)
      #expect(remote.pulls <= round * 1100)
    }
    stop()
    try await meeting.sync(with: remote)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `operations that are given again and again end by name`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    var forger = Forger()
    let (remote, stop) = remote((0..<100).map { _ in forger.write() })
    let error = await #expect(throws: RemoteError.self) { try await meeting.sync(with: remote) }
    #expect(error?.code == .unexpectedAnswer)
    #expect(remote.pulls < 30)
    stop()
    try await meeting.sync(with: remote)
    #expect(try meeting.store.versionVector()[Forger.id] == 100)
    try await meeting.checkIntact()
  }

  @Test func `a whole log that comes again is no endless answer`() async throws {
    let meeting = try await HostileMeeting(.memory)
    var forger = Forger()
    let log = (0..<5000).map { _ in forger.write() }
    for epoch in ["e", "f"] {
      let remote = ScriptedRemote("again") { state in
        state.epoch = epoch
        state.onGreet = { state in
          RemoteGreeting(
            epoch: epoch, now: state.now, position: 5000,
            heads: VersionVector([Forger.id: 5000]))
        }
        state.onPull = { _, cursor in
          let start = cursor.flatMap { Int($0.rawValue) } ?? 0
          return PulledPage(
            operations: Array(log[start..<start + 100]),
            cursor: RemoteCursor(rawValue: "\(start + 100)"), hasMore: start < 4900,
            now: Date(milliseconds: Forger.now))
        }
      }
      try await meeting.sync(with: remote)
      #expect(remote.pulls == 50)
    }
  }

  @Test func `positions that go up and down, and bring nothing, wait for their turn`() async throws
  {
    let meeting = try await HostileMeeting(.memory)
    let remote = ScriptedRemote("restless") { state in
      state.onGreet = { state in
        RemoteGreeting(
          epoch: "e", now: state.now, position: 1 << 20,
          heads: state.heads)
      }
      state.onPosition = { state in
        let isUp = state.positions.isMultiple(of: 2)
        return isUp ? UInt64((1 << 20) + state.positions) : 1
      }
    }
    let clock = VirtualClock()
    let engine = SyncEngine(
      store: meeting.store, remote: remote,
      environment: SyncEnvironment(clock: clock, jitter: { 0 }))
    func pass(_ count: Int) async {
      let end = remote.positionCount + count
      while remote.positionCount < end { await Task.yield() }
    }
    await withDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      while remote.pulls < 8 { await Task.yield() }
      await pass(20_000)
      // The first, and eight that a position asked for.
      #expect(remote.pulls <= 9 && remote.greetings <= 9)
      let before = remote.pulls + remote.greetings
      while remote.pulls + remote.greetings == before {
        _ = clock.advance()
        await pass(10)
      }
      group.cancelAll()
    }
    try await meeting.checkIntact()
  }

  // MARK: - Room

  private func environment(_ free: @escaping @Sendable () -> Int) -> SyncEnvironment {
    var environment = SyncEnvironment(jitter: { 0 })
    environment.databasePath = "/somewhere/app.sqlite"
    environment.freeBytes = { $0 == "/somewhere/app.sqlite" ? free() : nil }
    return environment
  }

  @Test func `a page that has no room on the disk is not merged, and comes again`() async throws {
    let meeting = try await HostileMeeting(.sqlite)
    var forger = Forger()
    let remote = ScriptedRemote(giving: [forger.write(), forger.write()])
    let room = Box(false)
    let engine = SyncEngine(
      store: meeting.store, remote: remote,
      environment: environment { room.value.withLock { $0 } ? 1 << 30 : 1 << 20 })
    let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(error?.code == .local && error?.message.contains("/somewhere/app.sqlite") == true)
    #expect(error?.message.contains("1 MiB") == true && error?.message.contains("hostile") == true)
    #expect(try meeting.store.versionVector()[Forger.id] == 0)
    room.value.withLock { $0 = true }
    try await engine.syncOnce()
    #expect(try meeting.store.versionVector()[Forger.id] == 2)
    try await meeting.checkIntact()
  }

  @Test func `parts of a snapshot stop where the disk has no room for the next`() async throws {
    let meeting = try await HostileMeeting(.sqlite)
    // As long as may be, and full of nothing that a compressor finds.
    let part = try SnapshotPart.encoded(
      (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    let remote = ScriptedRemote("full") { state in
      state.onGreet = { state in
        var greeting = RemoteGreeting(
          epoch: "e", now: state.now, position: 9, heads: VersionVector())
        greeting.snapshot = RemoteSnapshot(
          id: "s", position: 9, cursor: RemoteCursor(rawValue: "9"),
          parts: SnapshotPart.Limit.parts, heads: VersionVector([Forger.id: 9]))
        return greeting
      }
      state.onPull = { _, _ in throw RemoteError(.snapshotNeeded, "load it") }
      state.onPart = { _ in part }
    }
    let looks = Box(0)
    let engine = SyncEngine(
      store: meeting.store, remote: remote,
      environment: environment {
        looks.value.withLock { looks in
          looks += 1
          return (64 << 20) - looks * (4 << 20)
        }
      })
    let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
    #expect(error?.code == .local)
    #expect(remote.parts < 10)
    try await meeting.checkIntact()
  }
}
