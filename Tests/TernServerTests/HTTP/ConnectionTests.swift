#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("HTTP: who has a connection", .timeLimit(.minutes(1)))
struct ConnectionTests {
  private static let half = "GET /v1/spaces/home HTTP/1.1\r\nHost: local"

  private func openHalves(_ count: Int, _ server: LiveServer) async throws -> [RawClient] {
    var clients: [RawClient] = []
    for _ in 0..<count {
      let client = try RawClient(server)
      _ = await client.send(Self.half)
      clients.append(client)
    }
    return clients
  }

  @Test("half a head on each connection keeps nobody out")
  func halves() async throws {
    var limits = ServerLimits()
    limits.connections = 8
    limits.headTime = .seconds(600)
    try await LiveServer.run(limits: limits) { server async throws in
      let clients = try await openHalves(40, server)
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 200)
      withExtendedLifetime(clients) {}
    }
  }

  @Test("a stream and a request under way stay, whatever comes")
  func held() async throws {
    var limits = ServerLimits()
    limits.connections = 5
    limits.headTime = .seconds(600)
    try await LiveServer.run(limits: limits) { server async throws in
      let stream = try RawClient(server)
      #expect(await stream.send(server.head("GET", "/v1/spaces/home/events")))
      #expect(await stream.head().status == 200)
      let upload = try RawClient(server)
      var ada = Author(1)
      let body = OperationBatch([ada.write("some text")]).encoded()
      let head = server.head(
        "POST", "/v1/spaces/home/operations",
        "Content-Type: application/vnd.tern.batch\r\nContent-Length: \(body.count)\r\n")
      #expect(await upload.send(Array(head.utf8) + body.prefix(1)))
      while server.application.received.used == 0 { await Task.yield() }
      let clients = try await openHalves(40, server)
      // Three have room, so that the others are gone.
      #expect(await clients[0].receive(1).isEmpty)
      #expect(await upload.send(Array(body.dropFirst())))
      #expect(await upload.head().status == 200)
      var events = ""
      while !events.contains("id: 1\n") {
        let byte = await stream.receive(1)
        if byte.isEmpty { break }
        events += String(decoding: byte, as: UTF8.self)
      }
      #expect(events.contains("id: 1\n"))
      stream.end()
    }
  }

  @Test("an address has so many connections, and its own oldest goes")
  func address() async throws {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 3
    try await LiveServer.run(limits: limits) { server async throws in
      var clients: [RawClient] = []
      for _ in 0..<4 {
        let client = try RawClient(server)
        // Answered, so that it is there before the next one.
        #expect(await client.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"))
        let answer = await client.head()
        #expect(answer.status == 200)
        _ = await client.receive(answer.length)
        clients.append(client)
      }
      #expect(await clients[0].receive(1).isEmpty)
      for client in clients.dropFirst() {
        #expect(await client.send(server.head("GET", "/v1/spaces/home")))
        #expect(await client.head().status == 200)
      }
    }
  }

  @Test("a head has so long from the connection's beginning, or from its first byte")
  func head() async throws {
    var limits = ServerLimits()
    limits.headTime = .seconds(2)
    try await LiveServer.run(limits: limits) { server async throws in
      let (silent, half, kept) = (
        try RawClient(server), try RawClient(server), try RawClient(server)
      )
      #expect(await half.send(Self.half))
      #expect(await kept.send(server.head("GET", "/v1/spaces/home")))
      let answer = await kept.head()
      #expect(answer.status == 200)
      _ = await kept.receive(answer.length)
      #expect(await half.receive(1).isEmpty)
      #expect(await silent.receive(1).isEmpty)
      // Twice the time of a head.
      // real time: the limit of a head is the system's.
      try await Task.sleep(for: .seconds(4))
      #expect(await kept.send(server.head("GET", "/v1/spaces/home")))
      let second = await kept.head()
      #expect(second.status == 200)
      _ = await kept.receive(second.length)
      #expect(await kept.send(Self.half))
      #expect(await kept.receive(1).isEmpty)
    }
  }

  @Test("an event stream outlasts the time of a head")
  func stream() async throws {
    var limits = ServerLimits()
    limits.headTime = .seconds(2)
    try await LiveServer.run(heartbeat: .milliseconds(500), limits: limits) { server async throws in
      let stream = try RawClient(server)
      #expect(await stream.send(server.head("GET", "/v1/spaces/home/events")))
      #expect(await stream.head().status == 200)
      var (text, beats) = ("", 0)
      while beats < 6 {
        let byte = await stream.receive(1)
        if byte.isEmpty { break }
        text += String(decoding: byte, as: UTF8.self)
        if text.hasSuffix(":\n\n") { beats += 1 }
      }
      #expect(beats == 6)
      stream.end()
    }
  }

  @Test("a body that is refused with its connection is taken, and the refusal comes")
  func refused() async throws {
    var limits = ServerLimits()
    limits.bodyBytes = 1_000
    try await LiveServer.run(limits: limits) { server async throws in
      let client = try RawClient(server)
      let bytes = 24 << 20
      let head = server.head(
        "POST", "/v1/spaces/home/operations",
        "Content-Type: application/vnd.tern.batch\r\nConnection: close\r\n"
          + "Content-Length: \(bytes)\r\n")
      // All of it, before anything of the answer is read.
      #expect(await client.send(Array(head.utf8) + [UInt8](repeating: 0, count: bytes)))
      let answer = await client.head()
      #expect(answer.status == 413)
      let body = String(decoding: await client.receive(answer.length), as: UTF8.self)
      #expect(body.contains("bodyBytes"))
      #expect(await client.receive(1).isEmpty)
    }
  }

  @Test("a connection goes on behind a body that was refused")
  func keptRefused() async throws {
    var limits = ServerLimits()
    limits.bodyBytes = 1_000
    try await LiveServer.run(limits: limits) { server async throws in
      let client = try RawClient(server)
      let bytes = 4 << 20
      let head = server.head(
        "POST", "/v1/spaces/home/operations",
        "Content-Type: application/vnd.tern.batch\r\nContent-Length: \(bytes)\r\n")
      #expect(await client.send(Array(head.utf8) + [UInt8](repeating: 0, count: bytes)))
      let answer = await client.head()
      #expect(answer.status == 413)
      _ = await client.receive(answer.length)
      #expect(await client.send(server.head("GET", "/v1/spaces/home")))
      #expect(await client.head().status == 200)
    }
  }

  @Test(
    "a request names its host once",
    arguments: [
      ("1.1", "", 400), ("1.1", "Host: a\r\nHost: b\r\n", 400),
      ("1.1", "Host: a\r\nhost: a\r\n", 400),
      ("1.0", "Host: a\r\nHost: b\r\n", 400), ("1.0", "", 200), ("1.1", "Host: a\r\n", 200),
      ("1.1", "Host:\r\n", 200),
    ])
  func host(version: String, fields: String, status: Int) async throws {
    try await LiveServer.run { server async throws in
      for path in ["/health", "/v1/spaces/home"] {
        let client = try RawClient(server)
        let token = "Authorization: Bearer \(server.token)\r\n"
        #expect(await client.send("GET \(path) HTTP/\(version)\r\n\(fields)\(token)\r\n"))
        let answer = await client.head()
        #expect(answer.status == status)
        let body = String(decoding: await client.receive(answer.length), as: UTF8.self)
        #expect(body.contains("urn:tern:problem:malformed") == (status == 400))
      }
    }
  }
}
#endif
