#if Server
import Foundation
import GRDB
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// INV-13, with real devices and a real server.
@Suite("Engine: replicas belong to members", .timeLimit(.minutes(2)))
struct MemberTests {
  /// A member's tokens for one server.
  private struct House {
    let server: Server

    func token(_ member: String?, seed: UInt64) throws -> String {
      var generator = SeededGenerator(seed: seed)
      return try server.service.createToken(
        for: SpaceName(Server.space), of: member.map { try MemberName($0) }, using: &generator)
    }

    func remote(_ token: String) throws -> HTTPRemote {
      try Server.remote(port: server.port, token: token)
    }

    func phone(_ token: String) async throws -> Device {
      try await Device { _ in [try remote(token)] }
    }

    func phone(_ token: String, path: String) async throws -> Device {
      try await Device(path: path) { _ in [try remote(token)] }
    }

    func author(_ phone: Device) throws -> AuthorRecord? {
      try server.service.store.authorRecord(
        of: phone.replica.store.replicaID(), in: SpaceName(Server.space))
    }

    func ban(_ phone: Device) throws {
      try server.service.ban(phone.replica.store.replicaID(), in: SpaceName(Server.space))
    }
  }

  private func run(_ body: (House) async throws -> Void) async throws {
    try await Server.run(Server.memoryStore(seed: 1)) { try await body(House(server: $0)) }
  }

  private func write(_ phone: Device, _ id: String) async throws {
    try await phone.execute("INSERT INTO item VALUES ('\(id)', 'of \(id)', 1)")
    try phone.replica.store.seal()
  }

  private func expectEqual(_ phones: [Device], rows: Int) async throws {
    for phone in phones + phones { try await phone.syncOnce() }
    let states = try phones.map { try $0.replica.store.canonicalState() }
    #expect(states.allSatisfy { $0 == states[0] } && states[0].count == rows)
  }

  @Test func `what a stranger pushes in a member's name is refused`() async throws {
    try await run { house in
      let anna = try await house.phone(house.token("anna", seed: 1))
      let mallory = try house.remote(house.token("mallory", seed: 2))
      try await write(anna, "1")
      try await anna.syncOnce()
      #expect(try house.author(anna)?.member?.text == "anna")
      let id = try anna.replica.store.replicaID()
      let forged = SyncOperation(
        .init(replica: id, sequence: 2, time: .init(milliseconds: 1_800_000_000_000)), body: [])
      let error = await #expect(throws: RemoteError.self) { _ = try await mallory.push([forged]) }
      #expect(error?.code == .authorClaimed && error?.replica == id)
      // Anna goes on under her id.
      try await write(anna, "2")
      try await anna.syncOnce()
      #expect(try anna.replica.store.replicaID() == id)
      #expect(try await mallory.greet().heads[id] == 2)
    }
  }

  @Test func `a reader claims its id too, and a new token of the same member keeps it`()
    async throws
  {
    try await run { house in
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "tern-member-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "phone.sqlite").path
      let (first, second) = (try house.token("anna", seed: 1), try house.token("anna", seed: 2))
      let phone = try await house.phone(first, path: path)
      try await phone.syncOnce()
      #expect(try house.author(phone)?.member?.text == "anna")
      #expect(try house.server.service.revoke(first))
      let rotated = try await house.phone(second, path: path)
      try await write(rotated, "1")
      try await rotated.syncOnce()
      #expect(try rotated.replica.store.replicaID() == phone.replica.store.replicaID())
      #expect(rotated.engine.status.current.idChange == nil)
    }
  }

  @Test func `a device that another member takes over goes on under a new id`() async throws {
    try await run { house in
      let folder = FileManager.default.temporaryDirectory
        .appending(path: "tern-member-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let path = folder.appending(path: "phone.sqlite").path
      let anna = try await house.phone(house.token("anna", seed: 1), path: path)
      try await write(anna, "1")
      try await anna.syncOnce()
      let id = try anna.replica.store.replicaID()
      // Offline, and then under Bob's account.
      try await write(anna, "2")
      let bob = try await house.phone(house.token("bob", seed: 2), path: path)
      try await bob.syncOnce()
      #expect(try bob.replica.store.replicaID() != id)
      #expect(bob.engine.status.current.idChange?.former == id)
      #expect(try house.author(bob)?.member?.text == "bob")
      let other = try await house.phone(house.token("anna", seed: 3))
      try await expectEqual([bob, other], rows: 2)
      #expect(try await other.column("SELECT text FROM item ORDER BY id") == ["of 1", "of 2"])
    }
  }

  @Test func `a carrier leaves out another member's operations, and its own arrive`() async throws {
    try await Share.run { share in
      try await run { house in
        let (annas, bobs) = (try house.token("anna", seed: 1), try house.token("bob", seed: 2))
        let anna = try await Device { [try house.remote(annas), share.remote($0)] }
        let bob = try await Device { [try house.remote(bobs), share.remote($0)] }
        try await write(anna, "1")
        for phone in [anna, bob] { try await phone.syncOnce() }
        // Anna's next reaches Bob by the folder alone.
        try await write(anna, "2")
        try await anna.engines[1].syncOnce()
        try await write(bob, "3")
        try await bob.engines[1].syncOnce()
        let error = await #expect(throws: RemoteError.self) { try await bob.engines[0].syncOnce() }
        #expect(error?.code == .authorClaimed)
        let id = try anna.replica.store.replicaID()
        #expect(error?.replica == id)
        let status = bob.engines[0].status.current
        #expect(status.lastError == error && status.unpushed == 1)
        let heads = try await house.remote(bobs).greet().heads
        #expect(try heads[id] == 1 && heads[bob.replica.store.replicaID()] == 1)
        // Anna brings her own, and all is well.
        try await anna.engines[0].syncOnce()
        try await expectEqual([anna, bob], rows: 3)
        #expect(bob.engines[0].status.current.lastError == nil)
      }
    }
  }

  @Test func `an operator admits what a lost device had told a folder`() async throws {
    try await Share.run { share in
      try await run { house in
        let (annas, bobs) = (try house.token("anna", seed: 1), try house.token("bob", seed: 2))
        let anna = try await Device { [try house.remote(annas), share.remote($0)] }
        let bob = try await Device { [try house.remote(bobs), share.remote($0)] }
        try await write(anna, "1")
        try await anna.syncOnce()
        try await write(anna, "2")
        try await anna.engines[1].syncOnce()
        try await bob.engines[1].syncOnce()
        await #expect(throws: RemoteError.self) { try await bob.engines[0].syncOnce() }
        try house.server.service.admit(
          anna.replica.store.replicaID(), through: 2, in: SpaceName(Server.space))
        try await bob.syncOnce()
        let eve = try await house.phone(house.token("eve", seed: 3))
        try await expectEqual([bob, eve], rows: 2)
      }
    }
  }

  @Test func `history says whose device wrote, and who brought what nobody had claimed`()
    async throws
  {
    try await Share.run { share in
      try await run { house in
        let bobs = try house.token("bob", seed: 2)
        let eve = try await Device { [share.remote($0)] }
        let bob = try await Device { [share.remote($0), try house.remote(bobs)] }
        try await write(eve, "1")
        for phone in [eve, bob] { try await phone.syncOnce() }
        try await bob.execute("UPDATE item SET text = 'new'")
        try await bob.syncOnce()
        let anna = try await house.phone(house.token("anna", seed: 1))
        try await anna.syncOnce()
        let changes = try await anna.replica.history("item", key: ["1"]).changes
        #expect(changes.map(\.member) == [nil, "bob"])
        #expect(changes.map(\.isBrought) == [true, false])
        #expect(changes.map(\.broughtBy) == ["bob", nil])
        #expect("\(changes[0])".contains(", brought by bob, operation 1"))
        #expect("\(changes[1])".contains(" of bob, operation 1"))
        // In a folder nobody vouches for a name.
        #expect(try await eve.replica.history("item", key: ["1"]).changes[0].member == nil)
      }
    }
  }

  @Test func `nothing of a banned device is taken, and everybody else agrees`() async throws {
    try await run { house in
      let anna = try await house.phone(house.token("anna", seed: 1))
      let mallory = try await house.phone(house.token("mallory", seed: 2))
      let bob = try await house.phone(house.token("bob", seed: 3))
      for (phone, id) in [(anna, "1"), (mallory, "2")] {
        try await write(phone, id)
        try await phone.syncOnce()
      }
      try house.ban(mallory)
      let id = try mallory.replica.store.replicaID()
      try await mallory.execute("DELETE FROM item")
      for _ in 0..<2 {
        let error = await #expect(throws: RemoteError.self) { try await mallory.syncOnce() }
        #expect(error?.code == .authorBanned && error?.replica == id)
      }
      // A ban is no copy: the device gets no other id for it.
      #expect(try mallory.replica.store.replicaID() == id)
      try await write(anna, "3")
      try await expectEqual([anna, bob], rows: 3)
    }
  }

  @Test func `a device that has more of a banned one begins anew, and keeps that in the inbox`()
    async throws
  {
    try await Share.run { share in
      try await run { house in
        let (bobs, mallorys) = (
          try house.token("bob", seed: 2), try house.token("mallory", seed: 3)
        )
        let anna = try await house.phone(house.token("anna", seed: 1))
        let bob = try await Device { [try house.remote(bobs), share.remote($0)] }
        let mallory = try await Device { [try house.remote(mallorys), share.remote($0)] }
        try await write(anna, "1")
        for phone in [anna, mallory, bob] { try await phone.syncOnce() }
        try house.ban(mallory)
        let id = try mallory.replica.store.replicaID()
        // By the folder it reaches Bob, who has not heard of the ban.
        try await mallory.execute("UPDATE item SET text = 'forged', count = count + 5")
        try await write(mallory, "2")
        try await mallory.engines[1].syncOnce()
        try await bob.engines[1].syncOnce()
        try await write(bob, "3")
        #expect(try await bob.column("SELECT text FROM item") == ["forged", "of 2", "of 3"])
        let error = await #expect(throws: RemoteError.self) { try await bob.engines[0].syncOnce() }
        #expect(error?.code == .authorBanned && error?.replica == id)
        // Anna gives the space a snapshot, which it asks for since the ban.
        try await anna.syncOnce()
        try await bob.syncOnce()
        #expect(try await bob.column("SELECT text FROM item") == ["of 1", "of 3"])
        try await expectEqual([anna, bob], rows: 2)
        let kept = try await bob.replica.inbox().filter { $0.kind == .banned }
        #expect(kept.map(\.loser?.author) == [id, id])
        #expect(
          kept.compactMap { $0.values["text"] }.sorted { "\($0)" < "\($1)" } == ["forged", "of 2"])
        #expect(bob.engines[0].status.current.lastError == nil)
        let diagnosis = try await bob.database.read { try DatabaseDiagnosis($0) }
        #expect(diagnosis.findings.isEmpty, "\(diagnosis.findings)")
        // The folder has it for good, and Bob takes it from nobody.
        try await mallory.execute("DELETE FROM item")
        try mallory.replica.store.seal()
        try await mallory.engines[1].syncOnce()
        try await bob.syncOnce()
        try await expectEqual([anna, bob], rows: 2)
      }
    }
  }
}
#endif
