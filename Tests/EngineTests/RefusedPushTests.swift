#if Server
import Tern
import TernServer
import Testing

/// A remote that takes nothing from this device, and gives what it has.
private struct RefusingRemote: Remote {
  let remote: any Remote
  let error: RemoteError
  var id: String { remote.id }

  func greet() async throws -> RemoteGreeting { try await remote.greet() }
  func push(_ operations: [Operation]) async throws -> PushReceipt { throw error }
  func pull(after cursor: Cursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await remote.pull(after: cursor, excluding: excluded)
  }
  func positions() -> AsyncThrowingStream<UInt64, any Error> { remote.positions() }
}

@Suite(.timeLimit(.minutes(1))) struct RefusedPushTests {
  @Test(arguments: [RemoteError.Code.tooLarge, .malformed, .sequenceConflict, .timeNotIncreasing])
  func `what the remote will never take does not keep a device from what it has`(
    _ code: RemoteError.Code
  ) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Phone(server.port), try await Phone(server.port))
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
      #expect(engine.status.current.pulled == 3 && engine.status.current.waiting == 1)
      #expect(engine.status.current.lastError?.code == code)
    }
  }

  @Test func `a running engine pulls, then says why it waits`() async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let (a, b) = (try await Phone(server.port), try await Phone(server.port))
      try await b.execute("INSERT INTO item VALUES ('b', 'from b', 1)")
      try await b.engine.syncOnce()
      try await a.execute("INSERT INTO item VALUES ('a', 'refused', 1)")
      let remote = RefusingRemote(
        remote: try Server.remote(port: server.port), error: RemoteError(.tooLarge, "not that"))
      let engine = SyncEngine(a.replica, remote: remote)
      await withDiscardingTaskGroup { group in
        group.addTask { await engine.run() }
        for await status in engine.status.updates where status.phase == .waiting {
          #expect(status.pulled == 1 && status.lastError?.code == .tooLarge)
          break
        }
        group.cancelAll()
      }
      try await a.waitForRows(2)
    }
  }

  @Test func `who may not enter does not ask again for what the server has`() {
    var session = SyncSession()
    let greeting = RemoteGreeting(
      epoch: "e", nowMilliseconds: 0, position: 7, heads: VersionVector())
    #expect(session.handle(.greeted(greeting, knownEpoch: nil)) == .push)
    let action = session.handle(.failed(RemoteError(.unauthorized, "no"), jitter: 0))
    #expect(action == .wait(Backoff().limit))
    #expect(session.refusal == nil)
  }
}
#endif
