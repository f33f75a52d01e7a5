#if Server
import Foundation
import Logging
import Synchronization
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: streams whose grant ends", .timeLimit(.minutes(1)))
struct GrantWatchTests {
  private static let first = "event: position\nid: 0\ndata: {\"position\":0}"

  /// An open stream, which has said where the space is.
  private func open(_ server: LiveServer, _ token: String = "") async throws -> EventReader {
    var events = EventReader(server.request("/v1/spaces/home/events", token: token))
    #expect(try await events.next() == Self.first)
    return events
  }

  private func token(_ server: LiveServer, expires: Date? = nil) throws -> String {
    var generator = SystemRandomNumberGenerator()
    return try server.service.createToken(for: .home, expires: expires, using: &generator)
  }

  @Test("a token that expires, or is revoked, ends its own streams and no other")
  func ends() async throws {
    let clock = HandClock()
    try await LiveServer.run(clock: clock) { server async throws in
      let short = try token(server, expires: Date(milliseconds: clock.now + 1000))
      let revoked = try token(server)
      var (expiring, leaving) = (try await open(server, short), try await open(server, revoked))
      var staying = try await open(server)
      clock.now += 999
      try server.service.revoke(revoked)
      #expect(try await leaving.next() == nil)
      clock.now += 1
      #expect(try await expiring.next() == nil)
      let refused = try await server.send(server.request("/v1/spaces/home", token: short))
      #expect((refused.status, refused.problem) == (401, "unauthorized"))
      #expect((refused.json["detail"] as? String)?.contains("expired at 1970-01-01T00:16") == true)
      var ada = Author(1)
      _ = try await server.push([ada.write()])
      #expect(try await staying.next()?.contains("id: 1") == true)
      staying.cancel()
    }
  }

  @Test("with the server's own times, another process's revocation is known long before a beat")
  func twoSeconds() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    try await LiveServer.run(store: store) { server async throws in
      var events = try await open(server)
      let other = try openStore(folder.path("server.tern"))
      let began = ContinuousClock.now
      let digest = TokenDigest(token: server.token)
      #expect(try other.update(.home) { try $0.remove(digest) } != nil)
      #expect(try await events.next() == nil)
      // It takes two seconds at the most, and more on a busy machine.
      #expect(ContinuousClock.now - began < .seconds(10))
    }
  }

  @Test("a store that can't be read for too long ends all streams", arguments: [true, false])
  func blind(isTokens: Bool) async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    let times = PeriodicCheck.Times(interval: .milliseconds(5), patience: .seconds(1))
    try await LiveServer.run(streams: times, store: store) { server async throws in
      var events = try await open(server)
      let call: FailingStore.Call = isTokens ? .tokens : .heads
      let began = ContinuousClock.now
      // The second look begins when one that began by now has succeeded.
      for _ in 0..<2 {
        store.fail([])
        while !store.hasSeen(call) { await Task.yield() }
      }
      store.fail([call])
      #expect(try await events.next()?.hasPrefix("retry: ") == true)
      #expect(try await events.next() == nil)
      #expect(ContinuousClock.now - began >= times.patience)
    }
  }

  /// Never says whether a grant holds.
  private struct Silent: Authorizer {
    let tokens: TokenAuthorizer
    func authorize(_ credential: String?, for space: SpaceName) async throws -> Grant {
      try await tokens.authorize(credential, for: space)
    }
    func withdrawn(_ grants: Set<Grant>) async throws -> Set<Grant> {
      // real time: until the server ends.
      try await Task.sleep(for: .seconds(3600))
      return []
    }
  }

  @Test("an authorizer that doesn't answer ends all streams too")
  func silent() async throws {
    let times = PeriodicCheck.Times(interval: .milliseconds(5), patience: .seconds(1))
    try await LiveServer.run(streams: times) {
      Silent(tokens: TokenAuthorizer(service: $0))
    } _: { server async throws in
      var events = try await open(server)
      #expect(try await events.next()?.hasPrefix("retry: ") == true)
      #expect(try await events.next() == nil)
    }
  }

  @Test("10,000 streams cost two queries a second")
  func queries() async throws {
    var generator = SeededGenerator(state: 2)
    let store = FailingStore(MemorySpaceStore(using: &generator))
    var limits = ServerLimits()
    (limits.streams, limits.streamsPerSpace) = (10_000, 10_000)
    let service = SpaceService(store: store, clock: HandClock().clock, limits: limits)
    let tokens = try (0..<100).map { _ in
      try service.createToken(for: .home, using: &generator)
    }
    let grants = try tokens.map { Grant(try service.authorize($0, for: .home)) }
    let streams = try (0..<10_000).map {
      try service.listen(to: .home, by: grants[$0 % grants.count])
    }
    let logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
    let queue = StoreQueue(waitingPerSpace: 1)
    let heads = HeadReader(
      service: service, queue: queue, times: .init(), metrics: ServerMetrics(), logger: logger)
    let watch = GrantWatch(
      service: service, queue: queue,
      authorizer: TokenAuthorizer(service: service, queue: queue), times: .init(), logger: logger)
    store.fail([])
    try await heads.read()
    try await watch.check()
    #expect(store.reads == 2)
    #expect(try service.revoke(tokens[0]))
    let before = store.reads
    try await watch.check()
    #expect(service.board.count(of: .home) == 9_900)
    #expect(store.reads == before + 1)
    withExtendedLifetime(streams) {}
  }
}
#endif
