#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: event streams of several spaces", .timeLimit(.minutes(1)))
struct SpaceEventTests {
  private static let shared = SpaceName(stored: "shared")
  /// Soon enough for a test, and longer than a transaction.
  private static let times = PeriodicCheck.Times(interval: .milliseconds(20))

  /// A server whose account `anna` has `home` and `work`, which are there with nothing in them.
  private func run(
    _ store: (any SpaceStore)? = nil, heartbeat: Duration = .seconds(15),
    streams: PeriodicCheck.Times = times, limits: ServerLimits = .init(),
    drainDelay: Duration = .zero,
    _ body: (LiveServer, SharedSpaces) async throws -> Void
  ) async throws {
    let accounts = SharedSpaces()
    accounts["anna"] = [.home, .work]
    try await LiveServer.run(
      heartbeat: heartbeat, streams: streams, limits: limits, store: store, drainDelay: drainDelay
    ) { service in
      try service.createSpace(.work)
      return accounts
    } _: { server async throws in
      try await body(server, accounts)
    }
  }

  private func listen(_ server: LiveServer, _ account: String = "anna") -> EventReader {
    EventReader(server.request("/v1/events", token: account))
  }

  /// The event of a space's head, which carries the check that its cursors carry.
  private static func event(_ space: SpaceName, _ server: LiveServer) throws -> String {
    let head = try #require(try server.service.store.heads(of: [space])[space])
    let check = head.chain.map { "\"check\":\"\($0.check)\"," } ?? ""
    return "event: position\ndata: {\(check)\"position\":\(head.position),\"space\":\"\(space)\"}"
  }

  private static func gone(_ space: SpaceName) -> String {
    "event: gone\ndata: {\"space\":\"\(space)\"}"
  }

  private func expect(_ expected: [String], _ events: inout EventReader) async throws {
    for event in expected {
      let next = try await events.next()
      #expect(next == event)
    }
  }

  @Test(
    "all spaces of the credential are told at once, and each as it grows",
    arguments: StoreKind.allCases)
  func growth(_ kind: StoreKind) async throws {
    let test = try kind.open()
    try await run(test.store) { server, _ async throws in
      var (ada, bob) = (Author(1), Author(2))
      _ = try server.service.push([ada.write()], to: .home)
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      #expect(events.contentType == "text/event-stream")
      _ = try server.service.push([bob.write()], to: .work)
      try await expect([Self.event(.work, server)], &events)
      _ = try server.service.push([ada.write()], to: .home)
      try await expect([Self.event(.home, server)], &events)
      events.cancel()
    }
    withExtendedLifetime(test) {}
  }

  @Test(
    "a space that another process moves, makes or removes is told", arguments: StoreKind.allCases)
  func otherProcess(_ kind: StoreKind) async throws {
    let test = try kind.open()
    // In memory there is no other process.
    let other = kind == .memory ? test.store : try test.reopened()
    try await run(test.store) { server, accounts async throws in
      accounts["anna"]?.insert(Self.shared)
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      let service = SpaceService(store: other, clock: HandClock().clock)
      var (ada, bob) = (Author(1), Author(2))
      _ = try service.push([ada.write()], to: .home)
      try await expect([Self.event(.home, server)], &events)
      _ = try service.push([bob.write()], to: Self.shared)
      try await expect([Self.event(Self.shared, server)], &events)
      #expect(try other.removeSpace(.work))
      try await expect([Self.gone(.work)], &events)
      events.cancel()
    }
    withExtendedLifetime(test) {}
  }

  @Test("spaces that the credential gains and loses come and go", arguments: StoreKind.allCases)
  func changes(_ kind: StoreKind) async throws {
    let test = try kind.open()
    try await run(test.store) { server, accounts async throws in
      var ada = Author(1)
      _ = try server.service.push([ada.write()], to: Self.shared)
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      accounts["anna"]?.insert(Self.shared)
      try await expect([Self.event(Self.shared, server)], &events)
      accounts["anna"]?.remove(.home)
      try await expect([Self.gone(.home)], &events)
      // What it lost is told no more, and what it has is.
      var (bob, cleo) = (Author(2), Author(3))
      _ = try server.service.push([bob.write()], to: .home)
      _ = try server.service.push([cleo.write()], to: .work)
      try await expect([Self.event(.work, server)], &events)
      #expect(server.service.board.count(of: .home) == 0)
      accounts["anna"] = nil
      var last = try await events.next()
      while last?.hasPrefix("event: gone") == true { last = try await events.next() }
      #expect(last == nil)
      #expect(server.service.board.count == 0)
    }
    withExtendedLifetime(test) {}
  }

  @Test("with the server's own times, what is withdrawn is gone within two seconds")
  func twoSeconds() async throws {
    try await run(streams: .init()) { server, accounts async throws in
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      let began = ContinuousClock.now
      accounts["anna"]?.remove(.work)
      try await expect([Self.gone(.work)], &events)
      // And more on a busy machine.
      #expect(ContinuousClock.now - began < .seconds(5))
      events.cancel()
    }
  }

  @Test("a token's stream tells of its one space, and ends with the token")
  func token() async throws {
    try await LiveServer.run(streams: Self.times) { server async throws in
      var events = listen(server, "")
      try await expect([Self.event(.home, server)], &events)
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      try await expect([Self.event(.home, server)], &events)
      try server.service.revoke(server.token)
      try await expect([Self.gone(.home)], &events)
      #expect(try await events.next() == nil)
      let refused = try await server.send(server.request("/v1/events"))
      #expect((refused.status, refused.problem) == (401, "unauthorized"))
      let nobody = try await server.send(server.request("/v1/events", token: nil))
      #expect((nobody.status, nobody.problem) == (401, "unauthorized"))
    }
  }

  @Test("an authorizer that doesn't say which spaces there are refuses it by name")
  func unknown() async throws {
    let sessions = Sessions()
    await sessions.signIn(
      .init(id: UUID(), account: "anna", space: .home, expires: Date(milliseconds: 2_000_000)),
      secret: "anna")
    try await LiveServer.run { _ in
      sessions
    } _: { server async throws in
      let answer = try await server.send(server.request("/v1/events", token: "anna"))
      #expect((answer.status, answer.problem) == (403, "forbidden"))
      let own = server.request("/v1/spaces/home/events", token: "anna")
      var events = EventReader(own)
      #expect(try await events.next()?.contains("id: 0") == true)
      events.cancel()
    }
  }

  @Test("a stream has so many spaces, and counts as one stream and as one of each space")
  func limits() async throws {
    var limits = ServerLimits()
    (limits.spacesPerStream, limits.streams, limits.streamsPerSpace) = (2, 2, 1)
    try await run(limits: limits) { server, accounts async throws in
      accounts["bob"] = [.home, .work, Self.shared]
      let tooMany = try await server.send(server.request("/v1/events", token: "bob"))
      #expect((tooMany.status, tooMany.problem) == (413, "too-large"))
      #expect((tooMany.json["detail"] as? String)?.hasPrefix("spacesPerStream: ") == true)
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      #expect(server.service.board.count == 1)
      accounts["bob"] = [.home]
      for path in ["/v1/events", "/v1/spaces/home/events"] {
        let full = try await server.send(server.request(path, token: "bob"))
        #expect((full.status, full.problem) == (503, "unavailable"))
        #expect((full.json["detail"] as? String)?.hasPrefix("streamsPerSpace: ") == true)
      }
      #expect(server.service.board.count == 1)
      // One that gains too many ends, and is told why when it comes back.
      accounts["anna"]?.insert(Self.shared)
      #expect(try await events.next() == nil)
      #expect(try await server.send(server.request("/v1/events", token: "anna")).status == 413)
      while server.service.board.count > 0 { await Task.yield() }
    }
  }

  @Test("a stream without news writes comments, and one without a space does at once")
  func heartbeat() async throws {
    try await run(heartbeat: .milliseconds(10)) { server, accounts async throws in
      accounts["bob"] = [Self.shared]
      var events = listen(server, "bob")
      for _ in 0..<3 { #expect(try await events.nextOrComment() == ":") }
      events.cancel()
      while server.service.board.count > 0 { await Task.yield() }
    }
  }

  @Test("a space that goes back, as by a failover, is told as it is, and the stream ends")
  func back() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await run(store) { server, _ async throws in
      var ada = Author(1)
      _ = try server.service.push(ada.write(count: 3), to: .home)
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      try await store.pool.write {
        try $0.execute(sql: "UPDATE space SET position = 1 WHERE name = 'home'")
      }
      try await expect([Self.event(.home, server)], &events)
      #expect(try await events.next() == nil)
      #expect(server.service.board.count == 0)
    }
  }

  @Test("a graceful shutdown ends it with a time to come back after")
  func shutdown() async throws {
    try await run { server, _ async throws in
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      await server.group.triggerGracefulShutdown()
      #expect(try await events.next()?.hasPrefix("retry: ") == true)
      #expect(try await events.next() == nil)
      #expect(server.service.board.count == 0)
    }
  }

  /// What waits for a reader that takes nothing is one head a space, and the first wake is at once.
  @Test("a slow reader is told the newest of each space, and nothing in between")
  func slowReader() throws {
    let board = HeadBoard()
    let grants = [SpaceName.home, .work].map { Grant(id: "anna", space: $0) }
    let (listener, wakes) = try board.listen(by: grants, limits: .init()) { spaces in
      Dictionary(uniqueKeysWithValues: spaces.map { ($0, SpaceHead()) })
    }
    #expect(listener.take().map(\.space) == [.home, .work])
    for position in 1...10_000 {
      board.publish(SpaceHead(position: UInt64(position), chain: nil), of: .home)
    }
    let news = listener.take()
    #expect(news.count == 1)
    #expect(news.first?.news == .head(SpaceHead(position: 10_000, chain: nil)))
    #expect(listener.take().isEmpty)
    withExtendedLifetime(wakes) {}
  }

  @Test("pushes in quick succession are told at the leading edge, and then now and then")
  func wakes() async throws {
    try await run { server, _ async throws in
      var events = listen(server)
      try await expect([Self.event(.home, server), Self.event(.work, server)], &events)
      var (ada, told, last) = (Author(1), 0, "")
      let began = ContinuousClock.now
      for _ in 0..<200 { _ = try server.service.push([ada.write()], to: .home) }
      let time = ContinuousClock.now - began
      while !last.contains("\"position\":200,") {
        last = try #require(try await events.next())
        if last != ":" { told += 1 }
      }
      // One at once, one at the end, and no more than one in 10 ms between.
      #expect(told <= 3 + Int(time / .milliseconds(10)))
      events.cancel()
    }
  }
}
#endif
