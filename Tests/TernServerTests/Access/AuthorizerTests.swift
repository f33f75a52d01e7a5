#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Access: an app's own authorizer", .timeLimit(.minutes(1)))
struct AuthorizerTests {
  private static let batch = "application/vnd.tern.batch"

  private func session(
    _ account: String, to space: SpaceName = .home, isGuest: Bool = false, clock: HandClock
  ) -> Sessions.Session {
    Sessions.Session(
      id: UUID(), account: account, space: space, isGuest: isGuest,
      expires: Date(milliseconds: clock.now + 10_000))
  }

  private func run(
    _ sessions: some Authorizer, clock: HandClock = .init(),
    _ body: (LiveServer) async throws -> Void
  ) async throws {
    try await LiveServer.run(clock: clock, authorizer: { _ in sessions }, body)
  }

  private func push(
    _ operations: [SyncOperation], _ server: LiveServer, secret: String
  ) async throws -> Answer {
    try await server.send(
      server.request(
        "/v1/spaces/home/operations", method: "POST", token: secret, type: Self.batch,
        body: OperationBatch(operations).encoded()))
  }

  @Test("whoever signed in pushes and pulls as the account's member")
  func member() async throws {
    let (clock, sessions) = (HandClock(), Sessions())
    await sessions.signIn(session("anna", clock: clock), secret: "a")
    await sessions.signIn(session("bob", clock: clock), secret: "b")
    try await run(sessions, clock: clock) { server async throws in
      var ada = Author(1)
      let greeting = try await server.send(
        server.request("/v1/spaces/home?replica=\(ada.replica)", token: "a"))
      #expect(greeting.status == 200)
      #expect(try await push([ada.write()], server, secret: "a").status == 200)
      #expect(
        try server.service.authors(of: .home)[ada.replica]?.record.member?.text == "anna")
      let other = try await push([ada.write()], server, secret: "b")
      #expect((other.status, other.problem) == (403, "author-claimed"))
      // A token is none of its credentials.
      let token = try await server.send(server.request("/v1/spaces/home"))
      #expect((token.status, token.problem) == (401, "unauthorized"))
    }
  }

  @Test("whoever may only read pulls, and writes nothing")
  func reader() async throws {
    let (clock, sessions) = (HandClock(), Sessions())
    await sessions.signIn(session("anna", clock: clock), secret: "a")
    await sessions.signIn(session("guest", isGuest: true, clock: clock), secret: "g")
    try await run(sessions, clock: clock) { server async throws in
      var (ada, eve) = (Author(1), Author(2))
      _ = try await push([ada.write()], server, secret: "a")
      let refused = try await push([eve.write()], server, secret: "g")
      #expect((refused.status, refused.problem) == (403, "read-only"))
      let greeting = try await server.send(
        server.request("/v1/spaces/home?replica=\(eve.replica)", token: "g"))
      #expect(greeting.json["position"] as? Int == 1)
      #expect(greeting.json["wantsState"] as? Bool != true)
      let page = try await server.send(
        server.request("/v1/spaces/home/operations?excluding=\(eve.replica)", token: "g"))
      #expect(page.status == 200)
      // How far it has read is its own to say.
      #expect(try server.service.lease(of: eve.replica, in: .home) != nil)
    }
  }

  @Test("a session of another space, one that expired, and a space that is gone are refused")
  func refused() async throws {
    let (clock, sessions) = (HandClock(), Sessions())
    await sessions.signIn(session("anna", clock: clock), secret: "a")
    await sessions.signIn(session("bob", to: .work, clock: clock), secret: "b")
    try await run(sessions, clock: clock) { server async throws in
      func ask(_ space: String, _ secret: String) async throws -> String? {
        try await server.send(server.request("/v1/spaces/\(space)", token: secret)).problem
      }
      #expect(try await ask("home", "a") == nil)
      #expect(try await ask("home", "b") == "forbidden")
      #expect(try await ask("work", "b") == "unauthorized")
      #expect(try server.service.store.spaces() == [.home])
      #expect(try server.service.createSpace(.work))
      #expect(try !server.service.createSpace(.work))
      #expect(try await ask("work", "b") == nil)
      #expect(try server.service.removeSpace(.work))
      #expect(try await ask("work", "b") == "unauthorized")
      clock.now += 10_000
      #expect(try await ask("home", "a") == "unauthorized")
    }
  }

  @Test("a session that ends, ends its streams")
  func signOut() async throws {
    let (clock, sessions) = (HandClock(), Sessions())
    await sessions.signIn(session("anna", clock: clock), secret: "a")
    try await run(sessions, clock: clock) { server async throws in
      var events = EventReader(server.request("/v1/spaces/home/events", token: "a"))
      #expect(try await events.next()?.contains("id: 0") == true)
      await sessions.signOut(secret: "a")
      #expect(try await events.next() == nil)
    }
  }

  /// Makes mistakes.
  private struct Careless: Authorizer {
    var space: SpaceName = .home
    var fails = false
    func authorize(_ credential: String?, for space: SpaceName) throws -> Grant {
      struct Secret: Error, CustomStringConvertible { let description = "secret" }
      if fails { throw Secret() }
      return Grant(id: "all", space: self.space)
    }
    func withdrawn(_ grants: Set<Grant>) -> Set<Grant> { [] }
  }

  @Test("a grant of another space opens this one to nobody")
  func otherSpace() async throws {
    try await run(Careless(space: .work)) { server async throws in
      let answer = try await server.send(server.request("/v1/spaces/home"))
      #expect((answer.status, answer.problem) == (403, "forbidden"))
    }
  }

  @Test("an authorizer that fails refuses for a while, and its words stay here")
  func fails() async throws {
    try await run(Careless(fails: true)) { server async throws in
      let answer = try await server.send(server.request("/v1/spaces/home"))
      #expect((answer.status, answer.problem) == (503, "unavailable"))
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("secret"))
    }
  }
}
#endif
