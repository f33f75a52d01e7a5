#if Server
import GRDB
import Synchronization
import Tern
import TernTesting
import TestDevice
import Testing

/// A remote beside which somebody writes before each answer to a push, so that there is always more.
private final class BusyRemote: Remote {
  let memory = MemoryRemote()
  var id: String { memory.id }
  let streams = Mutex(0)
  private let write = Mutex<(@Sendable (Int) throws -> Void)?>(nil)
  private let count = Mutex(0)
  /// A writer that nothing else ends.
  static let enough = 400

  /// What was written so far.
  var writes: Int { count.withLock { $0 } }

  func begin(_ write: @escaping @Sendable (Int) throws -> Void) {
    self.write.withLock { $0 = write }
  }

  func end() { write.withLock { $0 = nil } }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await memory.greet(as: replica)
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    let receipt = try await memory.push(operations)
    if let write = write.withLock({ $0 }), writes < Self.enough {
      let number = count.withLock { count in
        count += 1
        return count
      }
      try write(number)
    }
    return receipt
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await memory.pull(after: cursor, excluding: excluded)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    streams.withLock { $0 += 1 }
    return memory.positions(after: cursor)
  }
}

/// A device on which somebody writes as fast as its remote takes it.
@Suite("Engine: a device that is written to without a pause", .timeLimit(.minutes(1)))
struct SteadyWriterTests {
  private func steady(pushBytes: Int = 1 << 20) async throws -> (BusyRemote, Device, SyncEngine) {
    let remote = BusyRemote()
    let phone = try await Device { _ in [] }
    let engine = SyncEngine(
      phone.replica, remote: remote,
      environment: SyncEnvironment(
        backoff: Backoff(base: .seconds(600), limit: .seconds(600)),
        pollInterval: .milliseconds(20), pushBytes: pushBytes))
    let database = phone.database
    remote.begin { number in
      try database.write {
        try $0.execute(sql: "INSERT INTO item VALUES ('w\(number)', 'steady', 1)")
      }
    }
    return (remote, phone, engine)
  }

  private func other(_ remote: BusyRemote, writes id: String) async throws {
    let b = try await Device { _ in [remote.memory] }
    try await b.execute("INSERT INTO item VALUES ('\(id)', 'from b', 1)")
    try await b.syncOnce()
  }

  @Test func `a single sync pushes what there was, pulls, and returns`() async throws {
    // An operation in each push.
    let (remote, a, engine) = try await steady(pushBytes: 1)
    try await other(remote, writes: "b")
    for number in 1...20 {
      try await a.execute("INSERT INTO item VALUES ('\(number)', 'before', 1)")
      try a.replica.store.seal()
    }
    let own = try a.replica.store.ownHead()
    try await engine.syncOnce()
    #expect(remote.writes < BusyRemote.enough)
    #expect(try await remote.memory.greet().heads[own.id] >= own.sequence)
    #expect(engine.status.current.pulled == 1)
    #expect(engine.status.current.unpushed > 0 && engine.status.current.phase != .upToDate)
    // And everything, once there is an end of it.
    remote.end()
    try await engine.syncOnce()
    #expect(engine.status.current.unpushed == 0 && engine.status.current.phase == .upToDate)
    #expect(remote.memory.operations.count == remote.writes + 21)
  }

  @Test func `a run hears of others, and whoever asks it is answered`() async throws {
    let (remote, a, engine) = try await steady()
    try await a.execute("INSERT INTO item VALUES ('1', 'from a', 1)")
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      for id in ["b", "c"] {
        try await other(remote, writes: id)
        try await a.waitForRows(1, where: "id = '\(id)'")
      }
      try await engine.syncOnce()
      #expect(remote.streams.withLock { $0 } == 1)
      #expect(remote.writes < BusyRemote.enough)
      remote.end()
      await engine.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 }
      group.cancelAll()
    }
    #expect(remote.memory.operations.count == remote.writes + 3)
  }
}
#endif
