#if Server
import Tern
import TernServer
import TernTesting
import Testing

@Suite("Remote: conformance of every remote", .timeLimit(.minutes(2)))
struct RemoteConformanceTests {
  @Test(arguments: RemoteConformance.Scenario.allCases)
  func `the memory remote`(_ scenario: RemoteConformance.Scenario) async throws {
    let conformance = RemoteConformance {
      let remote = MemoryRemote(pageOperations: 5)
      return { _ in remote }
    }
    try await conformance.run(scenario)
  }

  @Test(arguments: RemoteConformance.Scenario.allCases)
  func `a server over HTTP`(_ scenario: RemoteConformance.Scenario) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { server in
      let port = server.port
      let conformance = RemoteConformance { { _ in try Server.remote(port: port) } }
      try await conformance.run(scenario)
    }
  }

  @Test(arguments: RemoteConformance.Scenario.allCases)
  func `a shared folder`(_ scenario: RemoteConformance.Scenario) async throws {
    try await Share.run { share in
      let conformance = RemoteConformance { { share.remote($0) } }
      try await conformance.run(scenario)
    }
  }

  @Test(arguments: SnapshotConformance.Scenario.allCases)
  func `snapshots in memory`(_ scenario: SnapshotConformance.Scenario) async throws {
    let conformance = SnapshotConformance {
      let remote = MemoryRemote(pageOperations: 5)
      return { _ in remote }
    }
    try await conformance.run(scenario)
  }

  @Test(arguments: SnapshotConformance.Scenario.allCases)
  func `snapshots over HTTP`(_ scenario: SnapshotConformance.Scenario) async throws {
    var limits = ServerLimits()
    limits.retention = .zero
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let port = server.port
      let conformance = SnapshotConformance { { _ in try Server.remote(port: port) } }
      try await conformance.run(scenario)
    }
  }

  @Test func `a remote that doubles what it holds does not pass`() async throws {
    let conformance = RemoteConformance {
      let remote = MemoryRemote()
      return { _ in Doubling(remote: remote) }
    }
    await #expect(throws: ConformanceFailure.self) { try await conformance.run(.push) }
    await #expect(throws: ConformanceFailure.self) { try await conformance.run(.repeats) }
  }
}

private struct Doubling: Remote {
  let remote: MemoryRemote
  var id: String { remote.id }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await remote.greet(as: replica)
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try await remote.push(operations)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    var page = try await remote.pull(after: cursor, excluding: excluded)
    page.operations += page.operations
    return page
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    remote.positions(after: cursor)
  }
}
#endif
