import Foundation
import ReplicaStoreKit
import Tern
import Testing

/// What a remote's lies about itself do: a typed error, no trap, no storm of requests.
@Suite("Engine: remotes that lie about themselves", .timeLimit(.minutes(1)))
struct HostileAnswerTests {
  @Test(arguments: ReplicaStoreKind.allCases, [.min, -1, 1 << 46 + 1, .max] as [Int64])
  func `a clock that can't be is no clock`(_ kind: ReplicaStoreKind, _ now: Int64) async throws {
    let meeting = try await HostileMeeting(kind)
    let greeting = ScriptedRemote("hostile") { $0.now = Date(milliseconds: now) }
    let greeted = await #expect(throws: RemoteError.self) { try await meeting.sync(with: greeting) }
    #expect(greeted?.code == .unexpectedAnswer)
    let refusing = ScriptedRemote("hostile") {
      $0.onPush = { _, _ in throw RemoteError(.timeAhead, "no", now: Date(milliseconds: now)) }
    }
    let log = try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    let refused = await #expect(throws: RemoteError.self) { try await meeting.sync(with: refusing) }
    #expect(refused?.code == .unexpectedAnswer)
    #expect(try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max) == log)
    try await meeting.checkIntact()
  }

  /// A push that asks which operations the remote has answers for itself.
  @Test(arguments: [.min, -1, 1 << 46 + 1, .max] as [Int64])
  func `a clock that can't be stamps nothing again, whatever it answers`(_ now: Int64) async throws
  {
    let meeting = try await HostileMeeting(.sqlite)
    let log = try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max)
    let (greetings, greeter) = AsyncStream.makeStream(of: Void.self)
    let remote = ScriptedRemote("hostile") {
      $0.onGreet = { state in
        greeter.yield()
        state.pushes = 0
        return RemoteGreeting(
          epoch: "e", now: state.now, position: 1,
          heads: VersionVector([HostileMeeting.id: 1]))
      }
      $0.onPush = { state, _ in
        if state.greetings % 2 == 0 {
          throw RemoteError(.timeAhead, "no", now: Date(milliseconds: now))
        }
        throw RemoteError(.sequenceConflict, "no", replica: HostileMeeting.id, sequence: 1)
      }
    }
    await meeting.run(with: remote, untilFourth: greetings)
    #expect(try meeting.store.operations(lackedBy: VersionVector(), maximumBytes: .max) == log)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases, [UInt64(1) << 40, .max])
  func `heads that nobody can have hide nothing but themselves`(
    _ kind: ReplicaStoreKind, _ head: UInt64
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.heads = VersionVector([Forger.id: head, HostileMeeting.friendID: head])
    }
    try await meeting.sync(with: remote)
    #expect(Set(remote.operations.map(\.envelope.replica)) == [HostileMeeting.id])
    let own = ScriptedRemote("another") { $0.heads = VersionVector([HostileMeeting.id: head]) }
    if kind == .sqlite {
      // As a copy of a database does, it leaves the id to whoever wrote that much under it.
      try await meeting.sync(with: own)
      #expect(try meeting.store.replicaID() != HostileMeeting.id)
    } else {
      let error = await #expect(throws: MergeError.self) { try await meeting.sync(with: own) }
      #expect(error?.code == .foreignOwn)
    }
    try await meeting.checkIntact()
  }

  @Test func `a run tells by its code that the remote holds what was never made here`() async throws
  {
    let meeting = try await HostileMeeting(.memory)
    let own = ScriptedRemote("another") { $0.heads = VersionVector([HostileMeeting.id: 1 << 40]) }
    let engine = SyncEngine(
      store: meeting.store, remote: own, environment: SyncEnvironment(jitter: { 0 }))
    await withDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      let error = await engine.status.updates.first { $0.lastError != nil }?.lastError
      #expect(error?.code == .foreignOwn && error?.replica == HostileMeeting.id)
      #expect(error?.sequence ?? 0 > 0)
      group.cancelAll()
    }
    try await meeting.checkIntact()
  }

  @Test func `a remote that refuses every id is believed three times`() async throws {
    let meeting = try await HostileMeeting(.sqlite)
    let store = meeting.store
    let remote = ScriptedRemote("hostile") {
      $0.onGreet = { state in
        let heads = VersionVector([try store.replicaID(): 1 << 39])
        return RemoteGreeting(
          epoch: "e", now: state.now, position: 1, heads: heads)
      }
    }
    let engine = SyncEngine(
      store: store, remote: remote, environment: SyncEnvironment(jitter: { 0 }))
    var ids: Set<ReplicaID> = []
    for _ in 0..<6 {
      await #expect(throws: MergeError.self) { try await engine.syncOnce() }
      ids.insert(try store.replicaID())
    }
    #expect(ids.count == 3 && !ids.contains(HostileMeeting.id))
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases, [0, 1 << 40, .max] as [UInt64])
  func `a conflict where nothing was pushed makes no new id`(
    _ kind: ReplicaStoreKind, _ sequence: UInt64
  ) async throws {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.heads = VersionVector([HostileMeeting.id: 1 << 39])
      $0.onPush = { _, _ in
        throw RemoteError(.sequenceConflict, "no", replica: HostileMeeting.id, sequence: sequence)
      }
    }
    let error = await #expect(throws: MergeError.self) { try await meeting.sync(with: remote) }
    #expect(error?.code == .foreignOwn)
    #expect(try meeting.store.replicaID() == HostileMeeting.id)
    try await meeting.checkIntact()
  }

  /// A run, which listens again and again.
  @Test(arguments: ReplicaStoreKind.allCases)
  func `a position at the end of all numbers ends no run`(_ kind: ReplicaStoreKind) async throws {
    let meeting = try await HostileMeeting(kind)
    let (greetings, greeter) = AsyncStream.makeStream(of: Void.self)
    let remote = ScriptedRemote("hostile") {
      $0.onGreet = { state in
        greeter.yield()
        return RemoteGreeting(
          epoch: state.epoch, now: state.now, position: .max,
          heads: state.heads)
      }
    }
    await meeting.run(with: remote, untilFourth: greetings)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a gap that repeats is an error, not a loop`(_ kind: ReplicaStoreKind) async throws {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.heads = VersionVector([HostileMeeting.id: 1])
      $0.onPush = { state, _ in
        if state.pushes > 20 { throw RemoteError(.unreachable, "enough") }
        throw RemoteError(.sequenceGap, "no", replica: HostileMeeting.id, sequence: 1)
      }
    }
    let error = await #expect(throws: RemoteError.self) { try await meeting.sync(with: remote) }
    #expect(error?.code == .sequenceGap)
    #expect(remote.pushes == 2)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `numbers of a receipt are not believed`(_ kind: ReplicaStoreKind) async throws {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.onPush = { _, _ in
        PushReceipt(now: Date(milliseconds: .min), position: .max, accepted: .max)
      }
    }
    try await meeting.sync(with: remote)
    #expect(remote.pulls == 1)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `more without moving is an error, not a loop`(_ kind: ReplicaStoreKind) async throws {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.onPull = { state, _ in
        PulledPage(
          operations: [], cursor: RemoteCursor(rawValue: "same"), hasMore: true,
          now: state.now)
      }
    }
    let error = await #expect(throws: RemoteError.self) { try await meeting.sync(with: remote) }
    #expect(error?.code == .unexpectedAnswer)
    #expect(remote.pulls == 2)
    try await meeting.checkIntact()
  }

  @Test(arguments: ReplicaStoreKind.allCases)
  func `a beginning that is unknown too is an error, not a loop`(_ kind: ReplicaStoreKind)
    async throws
  {
    let meeting = try await HostileMeeting(kind)
    let remote = ScriptedRemote("hostile") {
      $0.onPull = { _, _ in throw RemoteError(.cursorUnknown, "never heard of it") }
    }
    let error = await #expect(throws: RemoteError.self) { try await meeting.sync(with: remote) }
    #expect(error?.code == .cursorUnknown)
    #expect(remote.pulls == 2)
    try await meeting.checkIntact()
  }

  @Test(arguments: [MergeError.Code.gap, .timeNotIncreasing, .foreignOwn])
  func `a page that no honest remote gives is refused whole`(_ code: MergeError.Code) async throws {
    for kind in ReplicaStoreKind.allCases {
      let meeting = try await HostileMeeting(kind)
      var forger = Forger()
      let good = forger.row(Forger.packed("good"))
      switch code {
      case .gap: forger.sequence += 1
      case .timeNotIncreasing: forger.time = HybridTime(rawValue: forger.time.rawValue - 2)
      default: (forger.author, forger.sequence) = (HostileMeeting.id, 1)
      }
      let remote = ScriptedRemote(giving: [good, forger.row(Forger.packed("bad"))])
      let error = await #expect(throws: MergeError.self) { try await meeting.sync(with: remote) }
      #expect(error?.code == code)
      #expect(try meeting.store.versionVector()[Forger.id] == 0)
      try await meeting.checkIntact()
    }
  }

  @Test func `a flood of positions takes no room`() {
    let signals = SyncSignals()
    for position in 1...1_000_000 { signals.send(.remotePosition(UInt64(position))) }
    signals.send(.streamEnded(RemoteError(.unreachable, "over")))
    signals.send(.localWrite)
    guard case .localWrite = signals.take(), case .remotePosition(1_000_000) = signals.take(),
      case .streamEnded = signals.take()
    else {
      Issue.record("one of each is left, the latest, and a stream's end comes last")
      return
    }
    #expect(signals.take() == nil)
  }

  /// Their waits are not equally long, and only the newest has somebody who asks again after it.
  @Test func `a refusal whose wait ends late takes no other one's place`() {
    let signals = SyncSignals()
    signals.send(.mayAskAgain(2))
    signals.send(.mayAskAgain(1))
    guard case .mayAskAgain(2) = signals.take() else {
      Issue.record("the newest refusal's wait is over")
      return
    }
  }
}

extension HostileMeeting {
  /// Runs an engine that waits for next to nothing.
  fileprivate func run(with remote: any Remote, untilFourth greetings: AsyncStream<Void>) async {
    let engine = SyncEngine(
      store: store, remote: remote,
      environment: SyncEnvironment(
        backoff: Backoff(base: .milliseconds(10), limit: .milliseconds(10)), jitter: { 0 }))
    await withDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      var count = 0
      for await _ in greetings {
        count += 1
        if count == 4 { break }
      }
      #expect(count == 4)
      group.cancelAll()
    }
  }
}
