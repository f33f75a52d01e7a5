#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Move: what a space answers", .timeLimit(.minutes(4)))
struct MovedSpaceAPITests {
  /// A request of each kind.
  private func requests(_ server: LiveServer, _ author: Author) throws -> [String: URLRequest] {
    var author = author
    let space = "/v1/spaces/home"
    let cursor = try server.service.store.summary(of: .home).snapshot?.cursor.rawValue ?? ""
    let report = StateReport(
      replica: author.replica, cursor: RemoteCursor(rawValue: cursor), operations: 1, tables: [:])
    let push = OperationBatch([author.write()]).encoded()
    let offer = #"{"key":"k","parts":1,"cursor":"\#(cursor)","base":false,"heads":{}}"#
    return [
      "greet": server.request(space),
      "pull": server.request("\(space)/operations?after=\(cursor)"),
      "part": server.request("\(space)/snapshots/none/parts/0"),
      "push": server.request(
        "\(space)/operations", method: "POST", type: "application/vnd.tern.batch", body: push),
      "report": server.request(
        "\(space)/state", method: "PUT", body: Array(try JSONEncoder().encode(report))),
      "begin": server.request("\(space)/snapshots", method: "POST", body: Array(offer.utf8)),
      "put": server.request(
        "\(space)/snapshots/none/parts/0", method: "PUT", type: "application/octet-stream",
        body: [1]),
      "complete": server.request("\(space)/snapshots/none", method: "POST"),
    ]
  }

  private static let reads: Set = ["greet", "pull", "part"]

  @Test(
    arguments: [
      (SpacePhase.leaving, nil, nil), (.frozen, nil, "unavailable"),
      (.moved, "space-moved", "space-moved"), (.arriving, "unavailable", "unavailable"),
    ] as [(SpacePhase, String?, String?)])
  func `what each phase answers to each route`(
    _ phase: SpacePhase, _ reading: String?, _ writing: String?
  ) async throws {
    let test = try StoreKind.sqlite.open()
    try await LiveServer.run(clock: test.clock, store: test.store) { server in
      let author = try await fill(server)
      try MovingStores.movable(test).place(
        SpaceStanding(epoch: test.store.epoch, phase: phase))
      for (name, request) in try requests(server, author) {
        let answer = try await server.send(request)
        let expected = Self.reads.contains(name) ? reading : writing
        if let expected {
          #expect(answer.problem == expected, "\(phase) \(name)")
          #expect(answer.status == (expected == "unavailable" ? 503 : 410))
          #expect((answer.header("Retry-After") != nil) == (expected == "unavailable"))
        } else {
          #expect(!["unavailable", "space-moved"].contains(answer.problem), "\(phase) \(name)")
        }
      }
      // Events are positions, which are read.
      let events = server.request("/v1/spaces/home/events")
      guard reading == nil else {
        return #expect(try await server.send(events).problem == reading)
      }
      var reader = EventReader(events)
      #expect(try await reader.next()?.contains("event: position") ?? false)
      reader.cancel()
    }
  }

  /// Returns who has written.
  private func fill(_ server: LiveServer) async throws -> Author {
    var author = Author(1)
    #expect(try await server.push(author.write(count: 2)).status == 200)
    try server.service.upload(
      SnapshotOffer(at: server.service.end(), of: [author]), to: .home)
    return author
  }

  /// What an operator does is refused as well, and told why.
  @Test(arguments: [SpacePhase.frozen, .moved, .arriving])
  func `nothing else writes into it`(_ phase: SpacePhase) throws {
    let test = try StoreKind.sqlite.open()
    let service = test.service()
    var generator = SeededGenerator(state: 5)
    let token = try service.createToken(for: .home, using: &generator)
    var author = Author(1)
    _ = try service.push([author.write()], to: .home)
    try MovingStores.movable(test).place(SpaceStanding(epoch: test.store.epoch, phase: phase))
    let id = author.replica
    let anna = try MemberName("anna")
    let writes: [() throws -> Void] = [
      { try service.revoke(token) },
      {
        _ = try service.asOperator.rotateToken(
          TokenDigest(token: token), grace: .zero, using: &generator)
      },
      { try service.asOperator.suspend(.home) }, { try service.asOperator.resume(.home) },
      { try service.asOperator.dropLease(of: id, in: .home) },
      { try service.createSpace(.home) },
      { _ = try service.createToken(for: .home, using: &generator) },
      { try service.claim(id, by: anna, in: .home) }, { try service.ban(id, in: .home) },
      { try service.unban(id, in: .home) }, { try service.admit(id, through: 1, in: .home) },
      { try service.assign(id, to: anna, in: .home) }, { try service.refill(.home) },
      { try service.setQuota(SpaceQuota(bytes: 1), of: .home) },
      { _ = try service.restore(.home) }, { try service.endRestore(.home) },
      { try service.dropSnapshot("x", in: .home) },
      { _ = try service.acceptSnapshot("x", in: .home) },
    ]
    for (index, write) in writes.enumerated() {
      let code = refusal { try write() }?.code
      #expect(code == (phase == .moved ? .spaceMoved : .unavailable), "\(index)")
    }
    // Looking goes on, and maintenance waits.
    #expect(try service.snapshots(of: .home).isEmpty && service.authors(of: .home).count == 1)
    #expect(try service.asOperator.horizon(of: .home).position == 1)
    #expect(try !service.maintain(.home))
    #expect(try service.removeSpace(.home))
  }

  @Test(arguments: [(SpacePhase.moved, "space-moved"), (.arriving, "unavailable")])
  func `whom an app's own authorizer lets in is told the same`(
    _ phase: SpacePhase, _ code: String
  ) async throws {
    let (test, sessions) = (try StoreKind.sqlite.open(), Sessions())
    try await LiveServer.run(clock: test.clock, store: test.store) { _ in
      sessions
    } _: { server async throws in
      await sessions.signIn(
        .init(
          id: UUID(), account: "anna", space: .home,
          expires: Date(milliseconds: test.clock.now + 1_000_000)), secret: server.token)
      let author = try await fill(server)
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() != nil)
      try MovingStores.movable(test).place(
        SpaceStanding(epoch: test.store.epoch, phase: phase))
      for (name, request) in try requests(server, author) {
        #expect(try await server.send(request).problem == code, "\(phase) \(name)")
      }
      while let event = try await events.next() { #expect(event.hasPrefix(":")) }
    }
  }

  @Test func `an event stream of a space that was moved ends`() async throws {
    let test = try StoreKind.sqlite.open()
    try await LiveServer.run(heartbeat: .milliseconds(10), store: test.store) {
      server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() != nil)
      try MovingStores.movable(test).place(
        SpaceStanding(epoch: test.store.epoch, phase: .moved))
      while let event = try await events.next() { #expect(event.hasPrefix(":")) }
    }
  }

  @Test(arguments: MoveWay.allCases)
  func `over HTTP a device pulls on at the other server, where it was`(_ way: MoveWay) async throws
  {
    var stores = try MovingStores(way)
    let (source, target) = (stores.from, stores.to)
    let clock = stores.source.clock
    let token = stores.token
    let operations = stores.ada.write(count: 2)
    var cursor = ""
    try await LiveServer.run(clock: clock, store: source, token: token) { server in
      #expect(try await server.push(operations).status == 200)
      let start = try server.service.greet(.home).snapshot?.cursor.rawValue ?? ""
      let page = try await server.send(
        server.request("/v1/spaces/home/operations?after=\(start)"))
      #expect(page.status == 200)
      cursor = page.header("Tern-Cursor") ?? ""
      #expect(!cursor.isEmpty)
      try stores.move().run()
      let late = try await server.push(operations)
      #expect(late.problem == "space-moved")
    }
    let more = stores.ada.write(count: 1)
    try await LiveServer.run(clock: clock, store: target, token: token) { server in
      let again = try await server.push(operations)
      #expect(again.json["accepted"] as? Int == 0)
      #expect(try await server.push(more).json["accepted"] as? Int == 1)
      let page = try await server.send(
        server.request("/v1/spaces/home/operations?after=\(cursor)"))
      #expect(page.status == 200)
      #expect(try OperationBatch(encoded: Array(page.body)).operations == more)
    }
    withExtendedLifetime(stores) {}
  }
}
#endif
