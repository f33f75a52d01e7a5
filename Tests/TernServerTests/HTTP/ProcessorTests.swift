#if Server
import Synchronization
import TernCore
import Testing

@testable import TernServer

/// The time of an uptime and of every thread, told by hand.
private final class HandProcessor: Sendable {
  private let times = Mutex((uptime: Duration.zero, thread: Duration.zero))

  var clock: ProcessorClock {
    ProcessorClock(
      threadTime: { self.times.withLock { $0.thread } },
      uptime: { self.times.withLock { $0.uptime } })
  }

  func pass(_ time: Duration) { times.withLock { $0.uptime += time } }
  func work(_ time: Duration) { times.withLock { $0.thread += time } }
}

@Suite("HTTP: the processor time of a token", .timeLimit(.minutes(1)))
struct ProcessorTests {
  private static let (ada, bob) = (TokenDigest(token: "ada"), TokenDigest(token: "bob"))
  private let processor = HandProcessor()

  @Test func `one that took too much is refused before its body, and no other is`() async throws {
    var (generator, author) = (SeededGenerator(state: 3), Author(1))
    let store = FailingStore(MemorySpaceStore(using: &generator)) { [processor] space in
      if space == .home { processor.work(.seconds(40)) }
    }
    try await LiveServer.run(store: store, processor: processor.clock) { server async throws in
      let work = try server.service.createToken(for: .work, using: &generator)
      // It is not known before what it costs.
      #expect(try await server.push(author.write(count: 1)).status == 200)

      let client = try RawClient(server)
      let head = server.head(
        "POST", "/v1/spaces/home/operations",
        "Content-Type: application/vnd.tern.batch\r\nContent-Length: 1000000\r\n")
      #expect(await client.send(head))
      #expect(await client.head().status == 429)
      client.end()
      let refused = try await server.send(server.request("/v1/spaces/home"))
      #expect((refused.status, refused.problem) == (429, "unavailable"))
      // 10 seconds too much, of which half a second is restored in each.
      #expect(refused.header("Retry-After") == "20")
      #expect((refused.json["detail"] as? String)?.contains("processorPerToken") == true)
      let other = server.request("/v1/spaces/work", token: work)
      #expect(try await server.send(other).status == 200)

      processor.pass(.seconds(19))
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 429)
      processor.pass(.seconds(1))
      #expect(try await server.push([author.write()]).status == 200)
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 429)
    }
  }

  @Test func `where a push says what is expected, that costs its token too`() async throws {
    var (generator, author) = (SeededGenerator(state: 3), Author(1))
    let store = FailingStore(
      MemorySpaceStore(using: &generator),
      onSummary: { [processor] _ in
        processor.work(.seconds(40))
      })
    try await LiveServer.run(store: store, processor: processor.clock) { server async throws in
      _ = author.write()
      let refused = try await server.push([author.write()])
      #expect(refused.problem == "sequence-gap")
      #expect(refused.json["expected"] as? Int == 1)
      #expect(try await server.push([author.write()]).status == 429)
    }
  }

  @Test func `what waits for its turn behind it is refused too`() async throws {
    let accounts = ProcessorAccounts(allowance: .seconds(30), clock: processor.clock)
    let queue = StoreQueue(waitingPerSpace: 10)
    let expensive: @Sendable () -> Void = { [processor] in processor.work(.seconds(31)) }
    for turn in [
      { try await queue.page(of: .home, expensive) },
      { try await queue.check(of: .home, expensive) },
      { try await queue.write(to: .home, unpacking: expensive) { _ in } },
    ] as [@Sendable () async throws -> Void] {
      processor.pass(.seconds(200))
      try await accounts.charging(Self.ada) {
        try await turn()
        await #expect(throws: TooManyRequests.self) { try await turn() }
        // A write that is ready goes on, and so does a short look.
        try await queue.write(to: .home, expensive)
        try await queue.read {}
      }
      #expect(accounts.spent(by: Self.ada) == .seconds(62))
    }
    // Nobody's work costs nobody.
    try await queue.page(of: .home, expensive)
    #expect(accounts.spent(by: Self.ada) == .seconds(62))
    #expect(accounts.spent(by: Self.bob) == .zero)
  }

  @Test func `work that throws costs the same`() async throws {
    let accounts = ProcessorAccounts(allowance: .seconds(30), clock: processor.clock)
    let queue = StoreQueue(waitingPerSpace: 10)
    try await accounts.charging(Self.ada) { [processor] in
      _ = await #expect(throws: RemoteError.self) {
        try await queue.page(of: .home) {
          processor.work(.seconds(7))
          throw RemoteError(.malformed, "it can't be read")
        }
      }
    }
    #expect(accounts.spent(by: Self.ada) == .seconds(7))
  }

  @Test func `a token that owes nothing any more is forgotten`() async throws {
    let accounts = ProcessorAccounts(allowance: .seconds(30), clock: processor.clock)
    let queue = StoreQueue(waitingPerSpace: 10)
    for number in 0..<3_000 {
      try await accounts.charging(TokenDigest(token: "\(number)")) { [processor] in
        try await queue.read { processor.work(.seconds(1)) }
      }
      processor.pass(.seconds(1))
    }
    #expect(accounts.count < 1_100)
  }

  @Test func `a first push and a snapshot of an honest device stay far below`() async throws {
    let folder = try TemporaryFolder()
    let store = try openStore(folder.path("server.tern"))
    let service = SpaceService(store: store, clock: HandClock().clock)
    // No time passes, in which what was spent would be forgotten.
    let clock = ProcessorClock(threadTime: ProcessorClock.system.threadTime, uptime: { .zero })
    let accounts = ProcessorAccounts(
      allowance: service.limits.processorPerToken, clock: clock)
    let queue = StoreQueue(waitingPerSpace: 10)
    func cost(_ name: String, _ work: @escaping @Sendable () throws -> Void) async throws
      -> Duration
    {
      let token = TokenDigest(token: name)
      try await accounts.charging(token) { try await queue.page(of: .home, work) }
      return accounts.spent(by: token)
    }
    var ada = Author(1)
    let body = OperationBatch(ada.write(count: 10_000, bytes: 100)).encoded()
    let author = ada
    let pushed = try await cost("push") {
      _ = try service.push(OperationBatch(encoded: body).operations, to: .home)
    }
    // A million rows.
    #expect(pushed > .zero && pushed * 100 < .seconds(300), "10,000 operations: \(pushed)")
    let offer = SnapshotOffer(at: try service.end(), of: [author], parts: 3)
    let parts = try offer.parts(ofAbout: 4 << 20)
    let id = try service.beginSnapshot(offer, in: .home).id
    let given = try await cost("give") {
      for (index, part) in parts.enumerated() {
        try service.putSnapshotPart(part, index: index, of: id, in: .home)
      }
    }
    let checked = try await cost("check") { try service.completeSnapshot(id, in: .home) }
    let loaded = try await cost("load") {
      for index in parts.indices { _ = try service.snapshotPart(index, of: id, in: .home) }
    }
    // 200 MB are 50 times as much.
    #expect(loaded > .zero && loaded * 50 < .seconds(15), "4 MiB: \(loaded)")
    #expect(given > .zero && given * 50 < .seconds(30), "4 MiB: \(given)")
    #expect(checked > .zero && checked * 50 < .seconds(120), "4 MiB: \(checked)")
  }

  @Test func `a thread's own work is what counts`() {
    let clock = ProcessorClock.system
    let (start, end) = (clock.threadTime(), clock.uptime())
    var sum: UInt64 = 0
    while clock.threadTime() - start < .milliseconds(5) { sum &+= sum &* 3 &+ 1 }
    #expect(clock.uptime() > end)
  }
}
#endif
