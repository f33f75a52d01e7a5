#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: long answers", .timeLimit(.minutes(1)))
struct LongAnswerTests {
  private static let path = "/v1/spaces/home/operations"
  private static let bytes = 12 << 20

  /// An operation that no compression makes shorter, so that the system can't hold all of its answer.
  static func operation(bytes: Int = bytes) -> SyncOperation {
    var generator = SeededGenerator(state: 3)
    let words = (0..<bytes / 8).map { _ in generator.next() }
    let body = words.withUnsafeBytes { Array($0) }
    return SyncOperation(
      SyncOperation.Envelope(
        replica: ReplicaID(high: 1, low: 1), sequence: 1,
        time: HybridTime(milliseconds: 1_000_000), continues: false), body: body)
  }

  @Test("whoever reads slowly, and for longer than a connection may be idle, gets all of it")
  func slow() async throws {
    try await LiveServer.run(idle: .seconds(1)) { server async throws in
      let operation = Self.operation()
      _ = try server.service.push([operation], to: .home)
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", Self.path)))
      let length = await client.head().length
      try #require(length > Self.bytes)
      var body: [UInt8] = []
      while body.count < length {
        let piece = await client.receive(min(96 << 10, length - body.count))
        if piece.isEmpty { break }
        body += piece
        // More than three times the idle time in all.
        // real time: the limit of an idle connection is the system's.
        try await Task.sleep(for: .milliseconds(25))
      }
      #expect(body.count == length)
      #expect(try OperationBatch(encoded: body).operations == [operation])
    }
  }

  @Test("whoever reads nothing is cut off, and what waited for it is dropped")
  func stalled() async throws {
    try await LiveServer.run(idle: .seconds(2)) { server async throws in
      _ = try server.service.push([Self.operation()], to: .home)
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", Self.path)))
      // The time limit of the suite ends these if the connection stays.
      while server.application.sent.used == 0 { await Task.yield() }
      while server.application.sent.used > 0 { await Task.yield() }
      let length = await client.head().length
      #expect(await client.receive(length).count < length)
    }
  }

  @Test("whoever takes too long is cut off, however little the answer stands still")
  func late() async throws {
    var limits = ServerLimits()
    limits.answerTime = .milliseconds(500)
    try await LiveServer.run(limits: limits) { server async throws in
      _ = try server.service.push([Self.operation()], to: .home)
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", Self.path)))
      let length = await client.head().length
      var taken = 0
      while true {
        let piece = await client.receive(32 << 10).count
        taken += piece
        if piece == 0 { break }
        // real time: the limit of an answer is the system's.
        try await Task.sleep(for: .milliseconds(25))
      }
      #expect(taken < length)
      #expect(server.application.sent.used == 0)
    }
  }

  @Test("answers to one space leave the others room")
  func spaces() async throws {
    var limits = ServerLimits()
    (limits.bodyBytes, limits.snapshotPartBytes) = (Self.bytes + 1_000, 1_000)
    limits.answerBytesInFlight = 4 * limits.bodyBytes
    try await LiveServer.run(limits: limits) { server async throws in
      var generator = SeededGenerator(state: 12)
      let other = try server.service.createToken(for: .work, using: &generator)
      _ = try server.service.push([Self.operation()], to: .home)
      _ = try server.service.push([Self.operation()], to: .work)
      let client = try RawClient(server)
      #expect(await client.send(server.head("GET", Self.path)))
      while server.application.sent.used == 0 { await Task.yield() }
      #expect(try await server.send(server.request(Self.path)).status == 503)
      let work = server.request("/v1/spaces/work/operations", token: other)
      #expect(try await server.send(work).status == 200)
      client.end()
    }
  }

  @Test("answers beyond the limit are put off by its name, and short ones are not")
  func budget() async throws {
    var limits = ServerLimits()
    limits.answerBytesInFlight = Self.bytes + 1_000
    try await LiveServer.run(limits: limits) { server async throws in
      _ = try server.service.push([Self.operation()], to: .home)
      var client: RawClient? = try RawClient(server)
      #expect(await client?.send(server.head("GET", Self.path)) == true)
      while server.application.sent.used == 0 { await Task.yield() }
      let refused = try await server.send(server.request(Self.path))
      #expect((refused.status, refused.problem) == (503, "unavailable"))
      #expect(refused.header("Retry-After") == "5")
      #expect((refused.json["detail"] as? String)?.contains("answerBytesInFlight") == true)
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 200)

      // With what it has not read, which the other end is told.
      client = nil
      while server.application.sent.used > 0 { await Task.yield() }
      #expect(try await server.send(server.request(Self.path)).status == 200)
    }
  }

  @Test("a part of a snapshot counts until it is sent, and comes whole")
  func part() async throws {
    try await LiveServer.run { server async throws in
      var ada = Author(1)
      _ = try await server.push(ada.write(count: 1))
      let offer = SnapshotOffer(at: try server.service.end(), of: [ada], parts: 3)
      let id = try server.service.beginSnapshot(offer, in: .home).id
      let parts = try offer.parts(ofAbout: 300_000)
      let part = parts[1]
      for (index, part) in parts.enumerated() {
        try server.service.putSnapshotPart(part, index: index, of: id, in: .home)
      }
      try server.service.completeSnapshot(id, in: .home)
      let path = "/v1/spaces/home/snapshots/\(id)/parts/1"
      #expect(Array(try await server.send(server.request(path)).body) == part)
      while server.application.sent.used > 0 { await Task.yield() }
    }
    var limits = ServerLimits()
    limits.answerBytesInFlight = 100_000
    let operation = Self.operation(bytes: 300_000)
    try await LiveServer.run(limits: limits) { server async throws in
      _ = try server.service.push([operation], to: .home)
      #expect(try await server.send(server.request(Self.path)).status == 503)
      #expect(server.application.sent.used == 0)
    }
  }
}
#endif
