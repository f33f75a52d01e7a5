#if Server
import Foundation
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// A member that says of a state what is not so. No report changes anybody's data, and a ban ends
/// what it did (INV-13).
@Suite("Engine: state reports that lie", .timeLimit(.minutes(2)))
struct LyingReportTests {
  private static let home = SpaceName(stored: Server.space)

  private func token(_ member: String, _ server: Server) throws -> String {
    var generator = SeededGenerator(seed: UInt64(member.utf8.count))
    return try server.service.createToken(
      for: Self.home, of: MemberName(member), using: &generator)
  }

  /// What the space was told last, with another number for a table.
  private func lie(_ server: Server, of liar: ReplicaID, isRepaired: Bool) throws -> StateReport {
    var report = try #require(try server.service.greet(Self.home).state)
    (report.replica, report.isRepaired) = (liar, isRepaired)
    report.tables["item"]?.rows &+= 1
    return report
  }

  @Test(arguments: [true, false])
  func `one in its own name makes others doubt until it is banned, and changes nothing`(
    _ hasSnapshot: Bool
  ) async throws {
    var limits = ServerLimits()
    limits.stateInterval = .zero
    limits.operationsPerSnapshot = hasSnapshot ? 2 : 1_000
    try await Server.run(Server.memoryStore(seed: 1), limits: limits) { server in
      let anna = try await Device(server.port, token: token("anna", server))
      let bob = try await Device(server.port, token: token("bob", server))
      let mallory = try Server.remote(port: server.port, token: token("mallory", server))
      let liar = ReplicaID(high: 6, low: 6)
      _ = try await mallory.greet(as: liar)
      for id in ["1", "2", "3"] {
        try await anna.execute("INSERT INTO item VALUES ('\(id)', 'of Anna', 1)")
        try anna.store.seal()
      }
      for device in [anna, anna, bob, anna, bob] { try await device.syncOnce() }
      #expect(try (server.service.greet(Self.home).snapshot != nil) == hasSnapshot)
      let expected = try anna.store.canonicalState()
      let known = try server.service.greet(Self.home).state
      let inAnnasName = try lie(server, of: anna.store.replicaID(), isRepaired: true)
      let error = await #expect(throws: RemoteError.self) { try await mallory.report(inAnnasName) }
      #expect(try error?.code == .authorClaimed && error?.replica == anna.store.replicaID())
      #expect(try server.service.greet(Self.home).state == known)

      let own = try lie(server, of: liar, isRepaired: true)
      try await mallory.report(own)
      #expect(try server.service.greet(Self.home).state == own)
      // What each says of the lie it says to the app, and goes on.
      try await bob.execute("INSERT INTO item VALUES ('own', 'of Bob', 1)")
      let doubtful = [anna, anna]
      for device in doubtful {
        await #expect(throws: RemoteError.self) { try await device.syncOnce() }
        #expect(device.engine.status.current.lastError?.code == .stateDiffers)
        #expect(try device.store.canonicalState() == expected)
      }
      try server.service.ban(liar, in: Self.home)
      let banned = await #expect(throws: RemoteError.self) { try await mallory.report(own) }
      #expect(banned?.code == .authorBanned)
      #expect(try server.service.greet(Self.home).state == nil)
      for device in [anna, bob, anna, bob, anna, bob] { try await device.syncOnce() }
      for device in [anna, bob] {
        let status = device.engine.status.current
        #expect(status.lastError == nil && status.differingTables.isEmpty)
        #expect(try await device.column("SELECT count(*) FROM item") == ["4"])
      }
      #expect(try anna.store.canonicalState() == bob.store.canonicalState())
      // Nobody is in doubt, so that somebody gives the snapshot that the space asks for.
      let greeting = try server.service.greet(Self.home)
      #expect(greeting.snapshot != nil && greeting.state?.replica != liar)
    }
  }
}
#endif
