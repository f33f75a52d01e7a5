#if Server
import Foundation
import Synchronization
import TernCore
import Testing

@testable import TernServer

/// Connections that stand nearly still, hundreds where each takes little, and an honest device
/// beside them.
@Suite("HTTP: many slow clients", .timeLimit(.minutes(1)))
struct SlowClientTests {
  /// Of the system's clock, for each test here.
  private static let headTime = Duration.seconds(2)
  private static let (bodyTime, idle) = (Duration.seconds(1), Duration.seconds(1))
  /// What a busy machine may be late by.
  private static let slack = Duration.seconds(20)
  /// In which the honest device pushes once and pulls once.
  private static let bound = Duration.seconds(20)

  private var limits: ServerLimits {
    var limits = ServerLimits()
    (limits.headTime, limits.bodyTime) = (Self.headTime, Self.bodyTime)
    return limits
  }

  /// What an honest device did while something else went on.
  private final class Log: Sendable {
    let rounds = Mutex<[Duration]>([])
    let isOver = Mutex(false)
  }

  /// Runs `body` while a device pushes and pulls. Then all that it asked for was answered in time.
  private func beside(
    _ server: LiveServer, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let log = Log()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var ada = Author(1)
        // It goes on until it has its rounds, however slow the machine is.
        while !log.isOver.withLock({ $0 }) || log.rounds.withLock({ $0.count }) <= 10 {
          let began = ContinuousClock.now
          #expect(try await server.push(ada.write(count: 1)).status == 200)
          #expect(try await server.send(server.request("/v1/spaces/home/operations")).status == 200)
          log.rounds.withLock { $0.append(ContinuousClock.now - began) }
          // real time: a device that never rests would itself be an attack.
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      group.addTask {
        defer { log.isOver.withLock { $0 = true } }
        try await body()
      }
      try await group.waitForAll()
    }
    let rounds = log.rounds.withLock { $0 }
    #expect(rounds.count > 10)
    let slowest = try #require(rounds.max())
    #expect(slowest < Self.bound, "\(rounds.count) rounds, the slowest took \(slowest)")
  }

  /// Sends a byte to each client again and again, until the server has closed all of them; how long
  /// that took.
  private static func trickle(_ clients: [RawClient], _ text: String) async throws -> Duration {
    let began = ContinuousClock.now
    var (open, bytes) = (clients, Array(text.utf8)[...])
    while !open.isEmpty {
      let byte = bytes.popFirst() ?? UInt8(ascii: "a")
      var still: [RawClient] = []
      for client in open {
        guard await client.send([byte]), await client.isOpen() else { continue }
        still.append(client)
      }
      open = still
      // real time: so slow are they, by the server's clocks.
      try await Task.sleep(for: .milliseconds(200))
    }
    return ContinuousClock.now - began
  }

  @Test("heads that never end are dropped in time")
  func heads() async throws {
    try await LiveServer.run(limits: limits) { server async throws in
      try await beside(server) {
        let clients = try (0..<300).map { _ in try RawClient(server) }
        let time = try await Self.trickle(clients, "GET /v1/spaces/home HTTP/1.1\r\nHost: ")
        #expect(time < Self.headTime + Self.slack)
      }
    }
  }

  /// The heads of pushes into other spaces, a quarter without a token.
  private static func uploads(_ server: LiveServer, _ count: Int) throws -> [String] {
    var generator = SeededGenerator(state: 21)
    let tokens = try (0..<4).map { number in
      try server.service.createToken(for: SpaceName(stored: "slow-\(number)"), using: &generator)
    }
    return (0..<count).map { number in
      let space = number % 4
      let token = number / 4 % 4 == 0 ? "none" : tokens[space]
      return """
        POST /v1/spaces/slow-\(space)/operations HTTP/1.1\r
        Host: localhost\r
        Authorization: Bearer \(token)\r
        Content-Type: application/vnd.tern.batch\r
        Content-Length: 1000000\r\n\r\n
        """
    }
  }

  @Test("bodies that never end are dropped in time, allowed or not")
  func bodies() async throws {
    try await LiveServer.run(idle: Self.idle, limits: limits) { server async throws in
      try await beside(server) {
        var clients: [RawClient] = []
        for head in try Self.uploads(server, 240) {
          let client = try RawClient(server)
          #expect(await client.send(head))
          clients.append(client)
        }
        let time = try await Self.trickle(clients, "TRN1")
        // It is looked for once in the idle time.
        #expect(time < Self.bodyTime + Self.idle + Self.idle + Self.slack)
        #expect(server.application.received.used == 0)
      }
    }
  }

  @Test("whoever reads nothing of a long answer is dropped in time")
  func readers() async throws {
    try await LiveServer.run(idle: Self.idle, limits: limits) { server async throws in
      let operation = LongAnswerTests.operation(bytes: 6 << 20)
      let spaces = (0..<4).map { SpaceName(stored: "long-\($0)") }
      var generator = SeededGenerator(state: 22)
      let tokens = try spaces.map { space in
        let token = try server.service.createToken(for: space, using: &generator)
        _ = try server.service.push([operation], to: space)
        return token
      }
      try await beside(server) {
        var clients: [RawClient] = []
        for number in 0..<16 {
          let client = try RawClient(server)
          let request = """
            GET /v1/spaces/long-\(number % 4)/operations HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(tokens[number % 4])\r\n\r\n
            """
          #expect(await client.send(request))
          clients.append(client)
        }
        while server.application.sent.used == 0 { await Task.yield() }
        let began = ContinuousClock.now
        // All of them fit, so none waits for another one's end.
        #expect(server.application.sent.used <= server.service.limits.answerBytesInFlight)
        // The time limit of the suite ends this if they stay.
        while server.application.sent.used > 0 {
          // real time: an answer that nobody takes stands still by the system's clock.
          try await Task.sleep(for: .milliseconds(50))
        }
        // Some are packed while others stand still.
        #expect(ContinuousClock.now - began < Self.idle * 2 + Self.slack)
        withExtendedLifetime(clients) {}
      }
    }
  }
}
#endif
