#if Server
import Tern
import TernTesting
import TestDevice
import Testing

/// A remote that acknowledges everything and keeps nothing.
private final class ForgetfulRemote: Remote {
  let id = "forgetful"
  let keepsSnapshots = true
  let bases = Counter()

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    RemoteGreeting(
      epoch: "e", now: nil, position: 0, heads: VersionVector(), wantsSnapshot: true)
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    PushReceipt(now: nil, position: 0, accepted: operations.count)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    PulledPage(
      operations: [], cursor: RemoteCursor(rawValue: "0"), hasMore: false, now: nil)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    AsyncThrowingStream { _ in }
  }
  func beginSnapshot(_ offer: SnapshotOffer) async throws -> SnapshotUpload {
    if bases.next() > 20 { throw RemoteError(.unreachable, "enough") }
    return SnapshotUpload(id: "s", missing: [])
  }
  func completeSnapshot(_ id: String) async throws {}
}

@Suite("Snapshot: a base that a remote takes and forgets", .timeLimit(.minutes(1)))
struct ForgottenBaseTests {
  @Test func `a base that a remote takes and forgets is not cut again and again`() async throws {
    let (memory, remote) = (MemoryRemote(), ForgetfulRemote())
    let a = try await Device(logRetention: .seconds(-60)) { _ in [memory] }
    for number in 1...4 {
      try await a.execute("INSERT INTO item VALUES ('\(number)', '', 1)")
      try a.replica.store.seal()
    }
    try await a.syncOnce()
    try #require(try a.replica.store.hasTrimmed(lackedBy: VersionVector()))
    let engine = SyncEngine(a.replica, remote: remote)
    for count in 1...2 {
      let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
      #expect(error?.code == .unexpectedAnswer)
      #expect(remote.bases.value == count)
    }
  }
}
#endif
