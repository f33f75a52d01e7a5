#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: bodies that arrive slowly", .timeLimit(.minutes(1)))
struct SlowUploadTests {
  private static let path = "/v1/spaces/home/operations"

  /// Of a push that announces a body of so many bytes.
  private func head(_ server: LiveServer, announcing bytes: Int) -> String {
    server.head(
      "POST", Self.path,
      "Content-Type: application/vnd.tern.batch\r\nContent-Length: \(bytes)\r\n")
  }

  @Test("what is announced takes no room before it arrives")
  func announced() async throws {
    var limits = ServerLimits()
    limits.bodyBytesInFlight = 1 << 20
    try await LiveServer.run(limits: limits) { server async throws in
      let clients = try (0..<8).map { _ in try RawClient(server) }
      let head = head(server, announcing: 1_000_000)
      for client in clients { #expect(await client.send(head + "x")) }
      while server.application.received.used < clients.count { await Task.yield() }
      let answer = try await server.push([LongAnswerTests.operation(bytes: 500_000)])
      #expect(answer.status == 200)
      #expect(server.application.received.used == clients.count)
    }
  }

  @Test("a body that doesn't fit is refused as it arrives, and leaves its room")
  func full() async throws {
    var limits = ServerLimits()
    limits.bodyBytesInFlight = 100_000
    try await LiveServer.run(limits: limits) { server async throws in
      let answer = try await server.push([LongAnswerTests.operation(bytes: 300_000)])
      #expect((answer.status, answer.problem) == (503, "unavailable"))
      #expect((answer.json["detail"] as? String)?.contains("bodyBytesInFlight") == true)
      #expect(server.application.received.used == 0)
    }
  }

  @Test("one space's bodies leave the others room")
  func spaces() async throws {
    var limits = ServerLimits()
    (limits.bodyBytes, limits.bodyBytesInFlight) = (300_000, 1_200_000)
    try await LiveServer.run(limits: limits) { server async throws in
      var generator = SeededGenerator(state: 12)
      let other = try server.service.createToken(for: .work, using: &generator)
      // Who never ends what was begun.
      let clients = try (0..<6).map { _ in try RawClient(server) }
      for client in clients {
        // The connections of those that are refused may be gone before all is sent.
        _ = await client.send(head(server, announcing: 200_000))
        await client.send([UInt8](repeating: 0, count: 199_000))
      }
      while server.application.received.used < 199_000 { await Task.yield() }
      let operation = LongAnswerTests.operation(bytes: 250_000)
      let push = server.request(
        "/v1/spaces/work/operations", method: "POST", token: other,
        type: "application/vnd.tern.batch", body: OperationBatch([operation]).encoded())
      #expect(try await server.send(push).status == 200)
      #expect(server.application.received.used <= 300_000)
      let refused = try await server.push([operation])
      #expect((refused.status, refused.problem) == (503, "unavailable"))
      for client in clients { client.end() }
    }
  }

  @Test("a body that takes too long is refused by the limit's name")
  func late() async throws {
    let clock = HandClock()
    try await LiveServer.run(clock: clock) { server async throws in
      let client = try RawClient(server)
      #expect(await client.send(head(server, announcing: 1_000) + "x"))
      while server.application.received.used == 0 { await Task.yield() }
      clock.now += 600_001
      #expect(await client.send("x"))
      let answer = await client.head()
      #expect(answer.status == 503)
      #expect(!answer.text.lowercased().contains("retry-after"))
      let body = String(decoding: await client.receive(answer.length), as: UTF8.self)
      #expect(body.contains("bodyTime"))
      #expect(server.application.received.used == 0)
    }
  }

  @Test("a request that goes on trickling is cut off")
  func trickle() async throws {
    var limits = ServerLimits()
    limits.bodyTime = .milliseconds(50)
    // The clock of the limit stands: this is about what goes on behind a refusal.
    try await LiveServer.run(idle: .milliseconds(100), limits: limits) { server async throws in
      let client = try RawClient(server)
      #expect(await client.send(head(server, announcing: 1_000_000)))
      // The time limit of the suite ends this if the connection stays.
      // real time: the limit of an idle connection is the system's.
      while await client.send("x") { try await Task.sleep(for: .milliseconds(5)) }
    }
  }
}
#endif
