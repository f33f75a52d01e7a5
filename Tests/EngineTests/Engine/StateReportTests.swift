#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// INV-01 between devices with the same operations, over real sockets.
@Suite("Engine: states that differ, and their repair", .timeLimit(.minutes(2)))
struct StateReportTests {
  /// A server that asks for a state whenever there is a new one to be had.
  private func limits(snapshotAfter operations: UInt64) -> ServerLimits {
    var limits = ServerLimits()
    limits.operationsPerSnapshot = operations
    limits.stateInterval = .zero
    return limits
  }

  private func write(_ phone: Device, _ ids: [String]) async throws {
    for id in ids {
      try await phone.execute("INSERT INTO item VALUES ('\(id)', 'text \(id)', 1)")
      try phone.replica.store.seal()
    }
  }

  /// Two devices that found their states equal; with a snapshot where the server asks for one.
  private func pair(_ server: Server) async throws -> (Device, Device) {
    let (a, b) = (try await Device(server.port), try await Device(server.port))
    try await write(a, ["1", "2", "3", "4", "5"])
    for phone in [a, a, a, b] { try await phone.syncOnce() }
    try expectCompared(server, a, b)
    return (a, b)
  }

  private func expectCompared(_ server: Server, _ phones: Device...) throws {
    let report = try #require(try server.service.greet(SpaceName(Server.space)).state)
    for phone in phones {
      #expect(phone.engine.status.current.differingTables.isEmpty)
      let comparison = try phone.replica.store.comparison(at: remoteID(phone))
      #expect(comparison?.report == report.name && comparison?.tables == [])
    }
  }

  private func remoteID(_ phone: Device) throws -> String {
    try phone.database.read {
      try String.fetchOne($0, sql: "SELECT id FROM grdb_tern_main_remote")!
    }
  }

  private func expectMended(_ phones: Device...) async throws {
    for phone in phones {
      #expect(try await phone.column("SELECT text FROM item WHERE id = '3'") == ["text 3"])
      #expect(
        try phone.replica.store.canonicalState() == phones[0].replica.store.canonicalState())
      let findings = try await phone.database.read { try DatabaseDiagnosis($0).findings }
      #expect(findings.isEmpty, "\(findings)")
    }
  }

  @Test func `INV-01: a damaged row is found, and mended by the snapshot`() async throws {
    try await Server.run(Server.memoryStore(seed: 1), limits: limits(snapshotAfter: 3)) { server in
      let (a, b) = try await pair(server)
      try await b.executeUnnoted("UPDATE item SET text = 'damaged' WHERE id = '3'")
      try await write(a, ["6"])
      for phone in [a, a] { try await phone.syncOnce() }
      // Written offline, on top of the damage, and not lost by the repair.
      try await b.execute("UPDATE item SET count = count + 10 WHERE id = '3'")
      try await b.syncOnce()
      try await a.syncOnce()
      try await b.syncOnce()
      #expect(b.engine.status.current.repairs == 1 && a.engine.status.current.repairs == 0)
      try expectCompared(server, a, b)
      try await expectMended(a, b)
      #expect(try await a.column("SELECT count FROM item WHERE id = '3'") == ["11"])
      try await b.syncOnce()
      #expect(b.engine.status.current.repairs == 1)
    }
  }

  @Test func `INV-01: of two states the one that a snapshot gave is the other's measure`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 2), limits: limits(snapshotAfter: 3)) { server in
      let (a, b) = try await pair(server)
      try await a.executeUnnoted("DELETE FROM item WHERE id = '3'")
      try await write(a, ["6"])
      for phone in [a, a, b] { try await phone.syncOnce() }
      #expect(b.engine.status.current.repairs == 1)
      #expect(try await a.column("SELECT text FROM item WHERE id = '3'") == [])
      try await a.syncOnce()
      #expect(a.engine.status.current.repairs == 1)
      try await expectMended(a, b)
      for phone in [a, b] { try await phone.syncOnce() }
      try expectCompared(server, a, b)
    }
  }

  @Test func `INV-01: where there is no snapshot the other device is asked for one`() async throws {
    try await Server.run(Server.memoryStore(seed: 3), limits: limits(snapshotAfter: 1000)) {
      server in
      let (a, b) = try await pair(server)
      try await b.executeUnnoted("UPDATE item SET text = 'damaged' WHERE id = '3'")
      try await write(a, ["6"])
      for phone in [a, a] { try await phone.syncOnce() }
      for _ in 0..<2 {
        let error = await #expect(throws: RemoteError.self) { try await b.syncOnce() }
        #expect(error?.code == .stateDiffers && error?.message.hasPrefix("item: ") == true)
      }
      #expect(b.engine.status.current.differingTables == ["item"])
      // It does not make its own state the space's, also when the space has grown and nothing is
      // there to compare with.
      let home = try SpaceName(Server.space)
      try await write(b, ["7"])
      await #expect(throws: RemoteError.self) { try await b.syncOnce() }
      await #expect(throws: Never.self) { try await b.syncOnce() }
      let greeting = try server.service.greet(home)
      #expect(greeting.snapshot == nil && greeting.wantsSnapshot && greeting.state == nil)
      try await a.syncOnce()
      #expect(try server.service.greet(home).snapshot != nil)
      try await b.syncOnce()
      #expect(b.engine.status.current.repairs == 1)
      try await expectMended(a, b)
      try await a.syncOnce()
      #expect(a.engine.status.current.repairs == 0 && a.engine.status.current.lastError == nil)
    }
  }

  /// Otherwise a state that was never mended would be the measure of those that are right.
  @Test func `INV-01: a repair that failed is none`() async throws {
    try await Server.run(Server.memoryStore(seed: 6), limits: limits(snapshotAfter: 3)) { server in
      let (a, b) = try await pair(server)
      try await b.executeUnnoted("UPDATE item SET text = 'damaged' WHERE id = '3'")
      try await write(a, ["6"])
      for phone in [a, a] { try await phone.syncOnce() }
      let remote = PartlessRemote(remote: try Server.remote(port: server.port))
      let engine = SyncEngine(b.replica, remote: remote)
      for _ in 0..<2 {
        let error = await #expect(throws: RemoteError.self) { try await engine.syncOnce() }
        #expect(error?.code == .unreachable)
      }
      let state = try server.service.greet(SpaceName(Server.space)).state
      #expect(state?.replica == (try a.replica.store.replicaID()) && state?.isRepaired == false)
      #expect(engine.status.current.differingTables == ["item"])
      try await b.syncOnce()
      try await expectMended(a, b)
      try expectCompared(server, a, b)
    }
  }

  @Test func `a running engine mends itself`() async throws {
    try await Server.run(Server.memoryStore(seed: 4), limits: limits(snapshotAfter: 1000)) {
      server in
      let (a, b) = try await pair(server)
      try await b.executeUnnoted("UPDATE item SET text = 'damaged' WHERE id = '3'")
      try await write(a, ["6"])
      for phone in [a, a] { try await phone.syncOnce() }
      try await Device.run([b]) {
        // Waiting, the server knows it too.
        await b.waitForStatus { $0.phase == .waiting && $0.differingTables == ["item"] }
        try await a.syncOnce()
        try await b.waitForRows(1, where: "text = 'text 3'")
        await b.waitForStatus { $0.phase == .upToDate }
      }
      try await expectMended(a, b)
    }
  }

  @Test func `nothing is compared that waits, and nothing twice`() async throws {
    try await Server.run(Server.memoryStore(seed: 5), limits: limits(snapshotAfter: 1000)) {
      server in
      let (a, b) = try await pair(server)
      let id = try remoteID(b)
      let heads = try server.service.greet(SpaceName(Server.space)).heads
      let store = b.replica.store
      let report = try #require(try store.stateReport(at: id, merged: heads))
      #expect(report.tables.keys.sorted() == ["item"])
      #expect(try store.stateReport(at: id, merged: VersionVector()) == nil)
      #expect(try store.stateReport(at: "elsewhere", merged: heads) == nil)
      try await b.execute("UPDATE item SET text = 'noted' WHERE id = '1'")
      #expect(try store.stateReport(at: id, merged: heads) == nil)
      for phone in [b, a, a, b] { try await phone.syncOnce() }
      try expectCompared(server, a, b)
      // Damage since is found with the next report, and not before: nothing is read twice.
      try await b.executeUnnoted("UPDATE item SET text = 'damaged' WHERE id = '3'")
      try await b.syncOnce()
      #expect(b.engine.status.current.differingTables.isEmpty)
    }
  }
}

/// Loses every part of a snapshot on its way.
private struct PartlessRemote: Remote {
  let remote: HTTPRemote
  var id: String { remote.id }
  var keepsSnapshots: Bool { true }

  func greet(as replica: ReplicaID?) async throws -> RemoteGreeting {
    try await remote.greet(as: replica)
  }
  func push(_ operations: [SyncOperation]) async throws -> PushReceipt {
    try await remote.push(operations)
  }
  func pull(after cursor: RemoteCursor?, excluding excluded: ReplicaID) async throws -> PulledPage {
    try await remote.pull(after: cursor, excluding: excluded)
  }
  func positions(after cursor: RemoteCursor?) -> AsyncThrowingStream<UInt64, any Error> {
    remote.positions(after: cursor)
  }
  func report(_ state: StateReport) async throws { try await remote.report(state) }
  func snapshotPart(_ index: Int, of id: String) async throws -> [UInt8] {
    throw RemoteError(.unreachable, "the connection was cut")
  }
}
#endif
