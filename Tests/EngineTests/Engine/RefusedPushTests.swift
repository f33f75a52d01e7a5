#if Server
import Foundation
import Synchronization
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// A remote that takes nothing from this device, and gives what it has.
final class RefusingRemote: Remote {
  let remote: any Remote
  let error: RemoteError
  /// How often a push is refused before one is taken.
  private let refusals: Int
  /// The most operations that are taken at once.
  private let most: Int
  let pushes = Mutex(0)
  var id: String { remote.id }

  init(remote: any Remote, error: RemoteError, refusals: Int = .max, most: Int = .max) {
    (self.remote, self.error, self.refusals, self.most) = (remote, error, refusals, most)
  }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await remote.greet(as: replica)
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    let count = pushes.withLock { count in
      count += 1
      return count
    }
    if count <= refusals || operations.count > most { throw error }
    return try await remote.push(operations)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await remote.pull(after: cursor, excluding: excluded)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    remote.positions(after: cursor)
  }
}

@Suite("Engine: pushes that the remote refuses", .timeLimit(.minutes(1)))
struct RefusedPushTests {
  @Test(arguments: [
    RemoteError.Code.tooLarge, .malformed, .sequenceConflict, .timeNotIncreasing, .forbidden,
    .unavailable,
  ])
  func `what the remote will never take does not keep a device from what it has`(
    _ code: RemoteError.Code
  ) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      for number in 1...3 {
        try await b.execute("INSERT INTO item VALUES ('b\(number)', 'from b', 1)")
        try await b.engine.syncOnce()
      }
      try await a.execute("INSERT INTO item VALUES ('a', 'refused', 1)")
      let remote = RefusingRemote(
        remote: try Server.remote(port: server.port), error: RemoteError(code, "not that"))
      let engine = SyncEngine(a.replica, remote: remote)
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error?.code == code)
      try await a.waitForRows(4)
      #expect(engine.status.current.pulled == 3 && engine.status.current.unpushed == 1)
      #expect(engine.status.current.lastError?.code == code)
    }
  }

  @Test func `syncing once that fails is told by the status, and mended by the next`() async throws
  {
    try await Share.run { share in
      let a = try await Device { [share.remote($0)] }
      try await a.execute("INSERT INTO item VALUES ('a', 'kept', 1)")
      let folder = share.url
      let elsewhere = folder.deletingLastPathComponent().appending(path: "elsewhere")
      try FileManager.default.moveItem(at: folder, to: elsewhere)
      let error = await #expect(throws: RemoteError.self) { try await a.syncOnce() }
      #expect(a.engine.status.current.phase == .waiting)
      #expect(a.engine.status.current.lastError == error)
      try FileManager.default.moveItem(at: elsewhere, to: folder)
      try await a.syncOnce()
      #expect(a.engine.status.current.phase == .upToDate)
      #expect(a.engine.status.current.lastError == nil)
    }
  }

  @Test func `a running engine pulls, then says why it waits`() async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Device(server.port), try await Device(server.port))
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
      try await b.engine.syncOnce()
      try await a.execute("INSERT INTO item VALUES ('a', 'refused', 1)")
      let remote = RefusingRemote(
        remote: try Server.remote(port: server.port), error: RemoteError(.tooLarge, "not that"))
      let engine = SyncEngine(a.replica, remote: remote)
      await withDiscardingTaskGroup { group in
        group.addTask { await engine.run() }
        let waiting = await engine.waitForStatus { $0.phase == .waiting }
        #expect(waiting?.pulled == 1 && waiting?.lastError?.code == .tooLarge)
        group.cancelAll()
      }
      try await a.waitForRows(2)
    }
  }

  @Test func `an engine listens while it is refused, and pushes nothing again for each write`()
    async throws
  {
    let memory = MemoryRemote()
    let remote = RefusingRemote(remote: memory, error: RemoteError(.tooLarge, "not that"))
    let (a, b) = (try await Device { _ in [memory] }, try await Device { _ in [memory] })
    // Waits for a minute before it asks again.
    let engine = SyncEngine(a.replica, remote: remote)
    try await a.execute("INSERT INTO item VALUES ('a', 'refused', 1)")
    await withDiscardingTaskGroup { group in
      group.addTask { await engine.run() }
      await engine.waitForStatus { $0.phase == .waiting }
      do {
        for number in 1...3 {
          try await b.execute("INSERT INTO item VALUES ('b\(number)', 'from b', 1)")
          try await b.syncOnce()
          try await a.waitForRows(number + 1)
        }
        for number in 1...3 {
          try await a.execute("UPDATE item SET count = count + 1 WHERE id = 'a'")
          let status = await engine.waitForStatus { $0.unpushed == number + 1 }
          #expect(status?.phase == .waiting && status?.lastError?.code == .tooLarge)
        }
      } catch {
        Issue.record(error)
      }
      group.cancelAll()
    }
    #expect(remote.pushes.withLock { $0 } == 1)
  }

  @Test func `what was refused is pushed again when the wait is over`() async throws {
    let memory = MemoryRemote()
    let remote = RefusingRemote(
      remote: memory, error: RemoteError(.tooLarge, "not yet"), refusals: 2)
    let a = try await Device { _ in [remote] }
    try await a.execute("INSERT INTO item VALUES ('a', 'taken in the end', 1)")
    try await Device.run([a]) {
      await a.waitForStatus { $0.phase == .upToDate && $0.unpushed == 0 && $0.lastError == nil }
    }
    #expect(memory.operations.count == 1 && remote.pushes.withLock { $0 } == 3)
  }

  @Test func `what is too many at once goes in halves of what was sent`() async throws {
    let memory = MemoryRemote()
    let remote = RefusingRemote(
      remote: memory, error: RemoteError(.tooLarge, "no more than five"), refusals: 0, most: 5)
    let a = try await Device { _ in [remote] }
    for number in 1...16 {
      try await a.replica.write { db in
        try db.execute(sql: "INSERT INTO item VALUES ('\(number)', 'one of many', 1)")
      }
    }
    try await a.syncOnce()
    #expect(memory.operations.count == 16)
    // Eleven times, from a mebibyte down.
    #expect(remote.pushes.withLock { $0 } <= 10)
  }

  @Test func `who may not enter does not ask again for what the server has`() {
    var session = SyncSession()
    let greeting = RemoteGreeting(
      epoch: "e", now: nil, position: 7, heads: VersionVector())
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    let action = session.handle(.failed(RemoteError(.unauthorized, "no"), jitter: 0))
    #expect(action == .wait(Backoff().limit, pause: .zero))
    #expect(session.refusal == nil)
  }
}
#endif
