#if Server
import Foundation
import Rehearsals
import Tern
import TernServer
import TernTesting
import TestDevice
import Testing

/// What happens to honest people in years: over real sockets, with files on both sides, and days
/// that pass at once.
@Suite("Engine: honest lives that are long", .timeLimit(.minutes(2)))
struct HonestLifeTests {
  private static let home = SpaceName(stored: Server.space)

  private func maintain(_ server: Server) throws {
    for _ in 1...100 where try server.service.maintain(Self.home) {}
  }

  private func token(_ member: String, _ server: Server, seed: UInt64) throws -> String {
    var generator = SeededGenerator(seed: seed)
    return try server.service.createToken(
      for: Self.home, of: MemberName(member), using: &generator)
  }

  @Test func `a wiped server gets everything back from two devices that each lack something`()
    async throws
  {
    try await LongLife.run { life in
      var (port, pair) = (0, [Device]())
      try await life.serve("before") { server in
        port = server.port
        pair = [try await life.device("a", at: server), try await life.device("b", at: server)]
        try await pair[0].write("1", "2", "3", "4")
        try await pair.sync()
        life.pass(days: 40)
        try await pair[0].write("5")
        try await pair.sync()
        // The first device is away from here on.
        try await pair[1].write("b1", "b2", "b3")
        try await pair[1].syncOnce()
        life.pass(days: 20)
        try await pair[0].write("a1", "a2")
        life.pass(days: 15)
        for _ in 1...2 { try await pair[1].syncOnce() }
      }
      for device in pair { #expect(try device.store.hasTrimmed(lackedBy: VersionVector())) }
      // Of what the second device wrote, only the last operation is in any log.
      #expect(try await pair[0].ids() == ["1", "2", "3", "4", "5", "a1", "a2"])
      let lacked = try pair[0].store.versionVector()
      #expect(try pair[1].store.hasTrimmed(lackedBy: lacked))
      try await life.serve("after", port: port) { server in
        for _ in 1...2 { try await pair[0].syncOnce() }
        #expect(try server.service.greet(Self.home).snapshot != nil)
        let error = await #expect(throws: RemoteError.self) { try await pair[1].syncOnce() }
        #expect(error?.code == .refillNeeded)
        try server.service.refill(Self.home)
        try await pair.reversed().sync()
        let new = try await life.device("new", at: server)
        try await new.syncOnce()
        try await (pair + [new]).expectEqual(
          ["1", "2", "3", "4", "5", "a1", "a2", "b1", "b2", "b3"])
        // And from here on.
        for device in pair + [new] { try await device.execute("UPDATE item SET count = count + 1") }
        try await (pair + [new]).sync()
        #expect(try await new.column("SELECT DISTINCT count FROM item") == ["4"])
      }
    }
  }

  @Test func `a token that is rotated leaves claim, lease and history as they are`() async throws {
    try await LongLife.run { life in
      try await life.serve("server") { server in
        let (first, second) = (
          try token("anna", server, seed: 1), try token("anna", server, seed: 2)
        )
        let anna = try await life.device("anna", at: server, token: first)
        let bob = try await life.device("bob", at: server, token: token("bob", server, seed: 3))
        let id = try anna.store.replicaID()
        func lease() throws -> Lease? { try server.service.lease(of: id, in: Self.home) }
        try await bob.write("0")
        try await anna.write("1")
        for device in [bob, anna, bob, anna] { try await device.syncOnce() }
        let before = try #require(try lease())
        #expect(try server.service.revoke(first))
        life.pass(days: 1)
        let error = await #expect(throws: RemoteError.self) { try await anna.syncOnce() }
        #expect(error?.code == .unauthorized)
        let rotated = try await life.device("anna", at: server, token: second)
        #expect(try lease() == before)
        try await rotated.execute("UPDATE item SET text = 'new' WHERE id = '1'")
        for device in [rotated, bob, rotated] { try await device.syncOnce() }
        #expect(try rotated.store.replicaID() == id)
        #expect(rotated.engine.status.current.idChange == nil)
        let after = try #require(try lease())
        #expect(after.position > before.position && after.renewed > before.renewed)
        let record = try server.service.store.authorRecord(of: id, in: Self.home)
        #expect(record?.member?.text == "anna")
        let changes = try await bob.replica.history("item", key: ["1"]).changes
        #expect(changes.map(\.member) == ["anna", "anna"])
        #expect(changes.map(\.isBrought) == [false, false])
        try await [rotated, bob].expectEqual(["0", "1"])
      }
    }
  }

  /// That of a device is in `IDChangeTests`, and both at once in `LostHistoryTests`.
  @Test func `a server's backup that is put back loses nothing of what devices wrote after it`()
    async throws
  {
    try await LongLife.run { life in
      var (port, pair) = (0, [Device]())
      try await life.serve("server") { server in
        port = server.port
        pair = [try await life.device("a", at: server), try await life.device("b", at: server)]
        try await pair[0].write("1", "2", "3", "4")
        try await pair[1].write("5")
        try await pair.sync()
      }
      try life.copy("server", to: "backup")
      let ids = try pair.map { try $0.store.replicaID() }
      try await life.serve("server", port: port) { _ in
        for (device, id) in zip(pair, ["a", "b"]) {
          try await device.write("\(id)1", "\(id)2")
          try await device.execute("UPDATE item SET count = count + 1 WHERE id = '1'")
        }
        try await pair[0].syncOnce()
        // What the one wrote last, the other has not heard of.
        try await pair[1].syncOnce()
        try await pair[1].write("b3")
        try await pair[1].syncOnce()
      }
      try life.copy("backup", to: "server")
      for (device, id) in zip(pair, ["a", "b"]) { try await device.write("\(id) later") }
      try await life.serve("server", port: port) { server in
        try await pair.sync()
        let new = try await life.device("new", at: server)
        try await new.syncOnce()
        try await (pair + [new]).expectEqual(
          ["1", "2", "3", "4", "5", "a1", "a2", "b1", "b2", "b3", "a later", "b later"])
        #expect(try await new.column("SELECT count FROM item WHERE id = '1'") == ["3"])
      }
      // Whoever had more than the server goes on under another id: a device's backup would look so.
      #expect(try pair.map { try $0.store.replicaID() } != ids)
    }
  }

  @Test func `what devices wrote to a folder goes to a server with ids and names`() async throws {
    try await LongLife.run { life in
      try await Share.run { share in
        let anna = try await life.device("anna") { [share.remote($0)] }
        let bob = try await life.device("bob") { [share.remote($0)] }
        try await anna.write("1", "2")
        try await bob.write("3")
        try await [anna, bob].sync()
        try await bob.execute("UPDATE item SET text = 'of Bob', count = count + 1 WHERE id = '1'")
        try await [bob, anna].sync()
        let ids = try [anna, bob].map { try $0.store.replicaID() }
        try await life.serve("server") { server in
          let annas = try token("anna", server, seed: 1)
          let bridge = try await life.device("anna") {
            [try Server.remote(port: server.port, token: annas), share.remote($0)]
          }
          try await bridge.syncOnce()
          let eve = try await life.device("eve", at: server, token: token("eve", server, seed: 2))
          try await eve.syncOnce()
          try await [bridge, eve].expectEqual(["1", "2", "3"])
          let changes = try await eve.replica.history("item", key: ["1"]).changes
          #expect(changes.map(\.stamp.author) == ids)
          #expect(changes.map(\.member) == ["anna", nil])
          #expect(changes.map(\.broughtBy) == [nil, "anna"])
          // He comes later, and nobody has taken his id.
          try await bob.write("4")
          try await bob.syncOnce()
          let bobs = try token("bob", server, seed: 3)
          let joined = try await life.device("bob") {
            [try Server.remote(port: server.port, token: bobs), share.remote($0)]
          }
          try await [joined, bridge, eve].sync()
          #expect(try [bridge, joined].map { try $0.store.replicaID() } == ids)
          #expect(joined.engines[0].status.current.idChange == nil)
          try await eve.write("5")
          try await [eve, joined, bridge].sync()
          try await [bridge, joined, eve].expectEqual(["1", "2", "3", "4", "5"])
          let last = try await eve.replica.history("item", key: ["4"]).changes
          #expect(last.map(\.stamp.author) == [ids[1]])
        }
      }
    }
  }

  @Test func `a device that is alone for years stays small, and so does its server`() async throws {
    var limits = LongLife.few
    limits.operationsPerSnapshot = 100
    try await LongLife.run { life in
      try await life.serve("server", limits: limits) { server in
        let device = try await life.device("device", at: server)
        try await device.write("1", "2", "3", "4", "5")
        // It reads once, and never again.
        let gone = try await life.device("gone", at: server)
        try await [device, gone].sync(rounds: 1)
        let part = Rehearsal.count(52, short: 26)
        var (mostInLog, mostOnServer, bytes) = (0, 0, [Int]())
        for week in 1...3 * part {
          life.pass(days: 7)
          for number in 1...15 {
            try await device.execute(
              "UPDATE item SET text = '\(week) \(number)', count = count + 1 "
                + "WHERE id = '\(number % 5 + 1)'")
            try device.store.seal()
          }
          try await device.syncOnce()
          try maintain(server)
          let usage = try server.service.store.usage(of: Self.home)
          if week % part == 0 { bytes.append(usage.bytes + usage.keptBytes) }
          // Until then the other's lease holds everything.
          guard week > 14 else { continue }
          mostInLog = max(mostInLog, try Int(device.store.counts().operations))
          mostOnServer = max(mostOnServer, usage.operations)
        }
        #expect(try server.service.store.lease(of: gone.store.replicaID(), in: Self.home) == nil)
        // 15 a week are kept for thirty days; on the server until there are two snapshots after.
        #expect(mostInLog < 150)
        #expect(mostOnServer < 400)
        #expect(bytes[2] < bytes[0] * 3 / 2, "\(bytes)")
        let again = try await life.device("device", at: server)
        let new = try await life.device("new", at: server)
        try await [again, new, gone].sync()
        try await [again, new, gone].expectEqual(["1", "2", "3", "4", "5"])
        #expect(try await gone.column("SELECT DISTINCT count FROM item") == ["\(1 + 9 * part)"])
      }
    }
  }

  @Test func `who was away for a year loses nothing, and finds in the inbox what was beaten`()
    async throws
  {
    try await LongLife.run { life in
      try await life.serve("server") { server in
        let a = try await life.device("a", at: server)
        let b = try await life.device("b", at: server)
        try await a.write("1", "2", "3")
        try await [a, b].sync()
        life.pass(days: 1)
        try await b.write("b1", "b2")
        for sql in ["text = 'from b' WHERE id < '3'", "count = count + 100 WHERE id = '1'"] {
          try await b.execute("UPDATE item SET \(sql)")
          try b.store.seal()
        }
        for month in 1...12 {
          life.pass(days: 31)
          try await a.write("a\(month)")
          try await a.execute(
            "UPDATE item SET text = 'month \(month)', count = count + 1 WHERE id = '1'")
          for _ in 1...2 { try await a.syncOnce() }
          try maintain(server)
        }
        #expect(try server.service.store.lease(of: b.store.replicaID(), in: Self.home) == nil)
        let trimmed = try server.service.greet(Self.home).trimmed
        #expect(trimmed > 3)
        let late = try await life.device("b", at: server)
        try await [late, a].sync()
        let new = try await life.device("new", at: server)
        try await new.syncOnce()
        try await [a, late, new].expectEqual(
          ["1", "2", "3", "b1", "b2"] + (1...12).map { "a\($0)" })
        let rows = try await a.column("SELECT text || count FROM item WHERE id < '3' ORDER BY id")
        #expect(rows == ["month 12113", "from b1"])
        let lost = try await late.replica.inbox().map { entry in
          "\(entry.kind.rawValue) \(entry.key[0]): \(entry.values["text"] ?? .null)"
        }
        #expect(lost == ["lastWriter '1': 'from b'"])
      }
    }
  }
}
#endif
