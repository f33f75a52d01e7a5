#if Server
import Foundation
import GRDB
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: event streams", .timeLimit(.minutes(1)))
struct EventTests {
  private static let first = "event: position\nid: 0\ndata: {\"position\":0}"

  /// The event of a space's head, which carries the check that its cursors carry.
  private static func event(_ server: LiveServer) throws -> String {
    let head = try #require(try server.service.store.heads(of: [.home])[.home])
    let check = try #require(head.chain?.check)
    return "event: position\nid: \(head.position)\n"
      + "data: {\"check\":\"\(check)\",\"position\":\(head.position)}"
  }

  @Test("the first event comes at once, the next with a push")
  func growth() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 2))
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.event(server))
      #expect(events.contentType == "text/event-stream")
      _ = try await server.push(ada.write(count: 1))
      #expect(try await events.next() == Self.event(server))
      events.cancel()
    }
  }

  @Test("a stream without news writes comments")
  func heartbeat() async throws {
    try await LiveServer.run(heartbeat: .milliseconds(10)) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      #expect(try await events.nextOrComment() == ":")
      #expect(try await events.nextOrComment() == ":")
      events.cancel()
    }
  }

  @Test("what another process pushed is told")
  func otherProcess() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await LiveServer.run(store: store) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      let other = SpaceService(
        store: try openStore(folder.path("server.tern")), clock: HandClock().clock)
      var ada = Author(1)
      _ = try other.push([ada.write()], to: .home)
      #expect(try await events.next() == Self.event(server))
      events.cancel()
    }
  }

  @Test("a stream ends where the store lost what it was told, as by a failover")
  func back() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await LiveServer.run(store: store) { server async throws in
      var ada = Author(1)
      _ = try server.service.push(ada.write(count: 3), to: .home)
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.event(server))
      try await store.pool.write { try $0.execute(sql: "UPDATE space SET position = 1") }
      #expect(try await events.next() == Self.event(server))
      #expect(try await events.next() == nil)
    }
  }

  @Test("a graceful shutdown ends open streams")
  func shutdown() async throws {
    try await LiveServer.run { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      await server.group.triggerGracefulShutdown()
      #expect(try await events.next()?.hasPrefix("retry: ") ?? false)
      #expect(try await events.next() == nil)
      #expect(server.service.board.count(of: .home) == 0)
    }
  }

  @Test(
    "a request with a body is refused, and takes no place",
    arguments: ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"])
  func body(field: String) async throws {
    try await LiveServer.run { server async throws in
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", "/v1/spaces/home/events", field)))
      let answer = await client.head()
      #expect(answer.status == 400)
      let body = String(decoding: await client.receive(answer.length), as: UTF8.self)
      #expect(body.contains("urn:tern:problem:malformed"))
      #expect(server.service.board.count(of: .home) == 0)
    }
  }

  @Test("a position that can't be read for a while ends neither a stream nor its signs of life")
  func failingStore() async throws {
    var (generator, ada) = (SeededGenerator(state: 2), Author(1))
    let memory = MemorySpaceStore(using: &generator)
    let store = FailingStore(memory)
    try await LiveServer.run(heartbeat: .milliseconds(10), store: store) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      store.fail([.heads, .tokens])
      while !store.hasSeen(.heads) || !store.hasSeen(.tokens) { await Task.yield() }
      for _ in 0..<3 { #expect(try await events.nextOrComment() == ":") }
      store.fail([])
      _ = try SpaceService(store: memory, clock: HandClock().clock).push([ada.write()], to: .home)
      #expect(try await events.next() == Self.event(server))
      events.cancel()
    }
  }

  @Test("a space that this process removes ends its streams at once")
  func removedHere() async throws {
    try await LiveServer.run(heartbeat: .seconds(3600)) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      #expect(try server.service.removeSpace(.home))
      #expect(try await events.next() == nil)
    }
  }

  @Test("a space that another process removes, or a token, ends its streams")
  func removedElsewhere() async throws {
    try await LiveServer.run { server async throws in
      var generator = SeededGenerator(state: 2)
      let store = server.service.store
      let other = try server.service.createToken(for: .work, using: &generator)
      var home = EventReader(server.request("/v1/spaces/home/events"))
      var work = EventReader(server.request("/v1/spaces/work/events", token: other))
      #expect(try await home.next() == Self.first)
      #expect(try await work.next() == Self.first)
      #expect(try store.removeSpace(.home))
      #expect(try await home.next() == nil)
      #expect(try server.service.revoke(other))
      #expect(try await work.next() == nil)
    }
  }

  @Test("a client that goes away leaves no listener")
  func goneClient() async throws {
    try await LiveServer.run { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events"))
      #expect(try await events.next() == Self.first)
      #expect(server.service.board.count(of: .home) == 1)
      events.cancel()
      // The time limit of the suite ends this if the listener stays.
      while server.service.board.count(of: .home) > 0 { await Task.yield() }
    }
  }
}
#endif
