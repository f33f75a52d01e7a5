#if Server
import GRDB
import Tern
import TernServer
import Testing

/// Devices forget what was deleted when nobody can bring it back, over real sockets.
@Suite(.timeLimit(.minutes(2))) struct HorizonSyncTests {
  private var limits: ServerLimits {
    var limits = ServerLimits()
    limits.operationsPerSnapshot = 3
    (limits.retention, limits.hasHorizon) = (.zero, true)
    return limits
  }

  private func space() throws -> SpaceName { try SpaceName(Server.space) }

  /// Rounds of syncing and keeping, until the space has a horizon that is later.
  private func settle(_ server: Server, _ phones: [Phone]) async throws {
    let before = try server.service.greet(space()).horizon
    for round in 0..<20 where try server.service.greet(space()).horizon == before {
      for phone in phones {
        try await phone.execute("INSERT INTO item VALUES (hex(randomblob(16)), 'round', \(round))")
        try await phone.syncOnce()
      }
      for phone in phones { try await phone.syncOnce() }
      while try server.service.maintain(space()) {}
    }
    #expect(try server.service.greet(space()).horizon > before)
    for phone in phones { try await phone.syncOnce() }
  }

  private func tombstones(_ phone: Phone) throws -> Int {
    try phone.replica.store.canonicalState().count { $0.deletion != nil }
  }

  private func expectSame(_ phones: [Phone]) throws {
    let horizon = try phones.map { try $0.replica.store.horizon() }.max() ?? .zero
    let states = try phones.map { try $0.replica.store.canonicalState().above(horizon) }
    for state in states { #expect(state == states[0]) }
  }

  @Test func `deleted rows are forgotten once every device with a lease has the deletes`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 11), limits: limits) { server in
      let (a, b, c) = (
        try await Phone(server.port), try await Phone(server.port), try await Phone(server.port)
      )
      try await a.execute("INSERT INTO item VALUES ('1', 'one', 1), ('2', 'two', 2)")
      for phone in [a, b, c] { try await phone.syncOnce() }
      try await a.execute("DELETE FROM item WHERE id = '1'")
      // The third has a lease and is away, with something that nobody has.
      try await c.execute("UPDATE item SET text = 'three' WHERE id = '1'")
      try await a.syncOnce()
      for _ in 0..<5 {
        try await a.execute("UPDATE item SET count = count + 1")
        for phone in [a, b] { try await phone.syncOnce() }
        while try server.service.maintain(space()) {}
      }
      #expect(try server.service.greet(space()).horizon == .zero)
      #expect(try tombstones(a) == 1)
      try await settle(server, [a, b, c])
      for phone in [a, b, c] { #expect(try tombstones(phone) == 0) }
      try expectSame([a, b, c])
      // The key is a new row from now on.
      try await b.execute("INSERT INTO item VALUES ('1', 'again', 1)")
      for phone in [b, a, c] { try await phone.syncOnce() }
      try expectSame([a, b, c])
      #expect(try await a.column("SELECT text FROM item WHERE id = '1'") == ["again"])
    }
  }

  @Test func `INV-12: a device whose lease ran out issues again what was not accepted`()
    async throws
  {
    try await Server.run(Server.memoryStore(seed: 12), limits: limits) { server in
      let (a, b, c) = (
        try await Phone(server.port), try await Phone(server.port), try await Phone(server.port)
      )
      try await a.execute(
        "INSERT INTO item VALUES ('1', 'one', 1), ('2', 'two', 2), ('3', 'three', 3)")
      for phone in [a, b, c] { try await phone.syncOnce() }
      try await c.execute("UPDATE item SET text = 'late ' || text, count = count + 10")
      try await c.execute("INSERT INTO item VALUES ('c', 'new', 1)")
      try server.service.store.update(space()) {
        try $0.set(nil, of: c.replica.store.replicaID())
      }
      try await a.execute("DELETE FROM item WHERE id = '1'")
      try await b.execute("UPDATE item SET text = 'newer' WHERE id = '3'")
      try await settle(server, [a, b])
      #expect(try tombstones(a) == 0)
      try await c.syncOnce()
      #expect(c.engine.status.current.leftOut == 1)
      for phone in [a, b, c] { try await phone.syncOnce() }
      try expectSame([a, b, c])
      #expect(
        try await a.column(
          "SELECT id || text || count FROM item WHERE id IN ('1', '2', '3', 'c') ORDER BY id")
          == ["2late two12", "3newer13", "cnew1"])
      let inbox = try await c.replica.inbox()
      #expect(inbox.contains { $0.key == [.string("1")] && $0.kind == .deleteWins })
      // And from there on it is as every other.
      try await c.execute("DELETE FROM item WHERE id = '2'")
      try await c.syncOnce()
      try await settle(server, [a, b, c])
      for phone in [a, b, c] { #expect(try tombstones(phone) == 0) }
      try expectSame([a, b, c])
    }
  }

  @Test func `a device that wrote before it first syncs begins with the snapshot`() async throws {
    try await Server.run(Server.memoryStore(seed: 13), limits: limits) { server in
      let (a, b) = (try await Phone(server.port), try await Phone(server.port))
      try await a.execute("INSERT INTO item VALUES ('1', 'one', 1)")
      try await a.syncOnce()
      try await a.execute("DELETE FROM item")
      try await settle(server, [a, b])
      try await settle(server, [a, b])
      #expect(try tombstones(a) == 0)
      let c = try await Phone(server.port)
      try await c.execute("INSERT INTO item VALUES ('1', 'mine', 5), ('c', 'c', 1)")
      try await c.syncOnce()
      for phone in [a, b] { try await phone.syncOnce() }
      try expectSame([a, b, c])
      #expect(try await b.column("SELECT text || count FROM item WHERE id = 'c'") == ["c1"])
      // Where the snapshot still has the delete it is one to a row that is gone, and otherwise new.
      let shown = try await b.column("SELECT text FROM item WHERE id = '1'")
      let lost = try await c.replica.inbox().filter { $0.key == [.string("1")] }
      #expect(shown.count + lost.count == 1)
      #expect(shown.first ?? lost.first?.values["text"]?.string == "mine")
    }
  }
}
#endif
