#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

/// Requests that two servers in a row could read as different numbers of requests.
///
/// - Source: RFC 9112, section 11.2; J. Kettle, "HTTP Desync Attacks", 2019.
@Suite("HTTP: smuggled requests", .timeLimit(.minutes(2)))
struct SmugglingTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: String
    /// Whether it is a request that somebody may send, with what looks like another one inside.
    var isWhole = false
  }

  /// What an attacker would have the server read as a request of its own. Nothing else asks for it.
  private static let hidden = "GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n"

  private static func request(
    _ fields: String, _ body: String, method: String = "POST", version: String = "1.1"
  ) -> String {
    "\(method) /v1/spaces/home/operations HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n\(body)"
  }

  /// A body that ends at once for whoever reads it as chunks, and `Content-Length` for its whole.
  private static let both = "0\r\n\r\n" + hidden
  private static let length = "Content-Length: \(both.utf8.count)\r\n"
  private static let chunked = "Transfer-Encoding: chunked\r\n"

  static let cases: [Case] = [
    Case(testDescription: "length, then chunks", bytes: request(length + chunked, both)),
    Case(testDescription: "chunks, then a length", bytes: request(chunked + length, both)),
    Case(
      testDescription: "a length of 0 before another",
      bytes: request("Content-Length: 0\r\n" + length, both)),
    Case(
      testDescription: "a length of 0 behind another",
      bytes: request(length + "Content-Length: 0\r\n", both)),
    Case(
      testDescription: "two lengths in one field",
      bytes: request("Content-Length: 0, \(both.utf8.count)\r\n", both)),
    Case(
      testDescription: "a length with a sign", bytes: request("Content-Length: +0\r\n", hidden)),
    Case(testDescription: "a negative length", bytes: request("Content-Length: -1\r\n", hidden)),
    Case(
      testDescription: "a hexadecimal length", bytes: request("Content-Length: 0x00\r\n", hidden)),
    Case(
      testDescription: "a length over 64 bits",
      bytes: request("Content-Length: 18446744073709551616\r\n", hidden)),
    Case(testDescription: "an empty length", bytes: request("Content-Length: \r\n", hidden)),
    Case(
      testDescription: "a space before the colon",
      bytes: request(length + "Transfer-Encoding : chunked\r\n", both)),
    Case(
      testDescription: "a tab before the colon",
      bytes: request(length + "Transfer-Encoding\t: chunked\r\n", both)),
    Case(
      testDescription: "a length with a space before the colon",
      bytes: request(chunked + "Content-Length : 5\r\n", both)),
    Case(
      testDescription: "an unknown coding",
      bytes: request(length + "Transfer-Encoding: xchunked\r\n", both)),
    Case(
      testDescription: "chunked, but not last",
      bytes: request(length + "Transfer-Encoding: chunked, identity\r\n", both)),
    Case(
      testDescription: "chunked in quotes",
      bytes: request(length + "Transfer-Encoding: \"chunked\"\r\n", both)),
    Case(
      testDescription: "chunked behind a vertical tab",
      bytes: request(length + "Transfer-Encoding: \u{b}chunked\r\n", both)),
    Case(
      testDescription: "chunked on a folded line",
      bytes: request(length + "Transfer-Encoding:\r\n chunked\r\n", both)),
    Case(
      testDescription: "a field behind a bare line feed",
      bytes: request(length + "X: a\nTransfer-Encoding: chunked\r\n", both)),
    Case(
      testDescription: "a field behind a bare carriage return",
      bytes: request(length + "X: a\rTransfer-Encoding: chunked\r\n", both)),
    Case(
      testDescription: "a field with a null byte",
      bytes: request(length + "X: a\u{0}\r\nTransfer-Encoding: chunked\r\n", both)),
    Case(
      testDescription: "a folded length", bytes: request("X: a\r\n " + length, both)),
    Case(
      testDescription: "chunks in HTTP/1.0",
      bytes: request(length + chunked, both, version: "1.0")),
    Case(
      testDescription: "a chunk whose size overflows",
      bytes: request(chunked, "10000000000000000\r\n" + both)),
    Case(
      testDescription: "a chunk whose size is negative",
      bytes: request(chunked, "-1\r\n" + both)),
    Case(
      testDescription: "a chunk whose size has a prefix",
      bytes: request(chunked, "0x0\r\n\r\n" + hidden)),
    Case(
      testDescription: "a chunk that is longer than its size",
      bytes: request(chunked, "1\r\nabc\r\n" + both)),
    Case(
      testDescription: "an extension with a bare line feed",
      bytes: request(chunked, "2;\nxx\r\n4c\r\n" + both)),
    Case(
      testDescription: "a size that ends with a bare line feed",
      bytes: request(chunked, "1\nZ\n" + both)),
    Case(
      testDescription: "a last chunk with a bare carriage return",
      bytes: request(chunked, "0\r\r" + hidden)),
    Case(
      testDescription: "a GET with a body",
      bytes: request(
        "Content-Length: \(hidden.utf8.count)\r\n", hidden, method: "GET"), isWhole: true),
    Case(
      testDescription: "a push with a body",
      bytes: request(
        "Content-Length: \(hidden.utf8.count)\r\n", hidden), isWhole: true),
    Case(
      testDescription: "a push of one chunk",
      bytes: request(
        chunked, "\(String(hidden.utf8.count, radix: 16))\r\n\(hidden)\r\n0\r\n\r\n"),
      isWhole: true),
    Case(
      testDescription: "a refused method with a body",
      bytes: request(
        "Content-Length: \(hidden.utf8.count)\r\n", hidden, method: "DELETE"), isWhole: true),
    Case(
      testDescription: "a body that is announced and waited for",
      bytes: request(
        "Expect: 100-continue\r\nContent-Length: \(hidden.utf8.count)\r\n", hidden), isWhole: true),
  ]

  /// How many requests, of one route or of all, the server has answered.
  private func count(_ server: LiveServer, _ route: String? = nil) -> Int {
    server.application.metrics.counts.requests
      .filter { route == nil || $0.key.route == route }.values.reduce(0, +)
  }

  /// Final answers: those of 1xx are none.
  private func answers(_ bytes: [UInt8]) -> [Int] {
    let parts = String(decoding: bytes, as: UTF8.self).components(separatedBy: "HTTP/1.1 ")
    return parts.dropFirst().compactMap { Int($0.prefix(3)) }.filter { $0 >= 200 }
  }

  /// Sends a case with a token; the answers to it, and whether the connection was closed then.
  private func send(
    _ example: Case, _ server: LiveServer, over client: RawClient
  ) async -> (statuses: [Int], isClosed: Bool) {
    await client.send(
      example.bytes.replacing(
        "Host: a\r\n", with: "Host: a\r\nAuthorization: Bearer \(server.token)\r\n",
        maxReplacements: 1))
    var statuses: [Int] = []
    while example.isWhole, statuses.isEmpty {
      let head = await client.head()
      guard let status = head.status else { return ([], true) }
      _ = await client.receive(head.length)
      if status >= 200 { statuses.append(status) }
    }
    // A connection that is not closed is waited for in vain.
    let (bytes, isClosed) = await client.rest(within: example.isWhole ? 1 : 5)
    return (statuses + answers(bytes), isClosed)
  }

  /// Nobody else is given what belongs to the one before.
  private func expectHonest(_ server: LiveServer, through port: Int) async throws {
    let honest = LiveServer(
      service: server.service, port: port, token: server.token, group: server.group,
      application: server.application, adminPort: nil)
    for _ in 0..<4 {
      let greeting = try await honest.send(honest.request("/v1/spaces/home"))
      #expect(greeting.status == 200)
      #expect(greeting.json["position"] as? Int == 0)
    }
  }

  @Test(arguments: cases)
  func `each is refused or is one request`(_ example: Case) async throws {
    var limits = ServerLimits()
    limits.headTime = .milliseconds(500)
    // What is a request leaves its connection open for the next one.
    let idle = example.isWhole ? Duration.seconds(75) : .milliseconds(500)
    try await LiveServer.run(idle: idle, limits: limits) { server async throws in
      let client = try RawClient(server)
      let (statuses, isClosed) = await send(example, server, over: client)
      #expect(statuses.count <= 1, "\(statuses)")
      if example.isWhole {
        #expect(statuses.count == 1)
        // The next request on the connection is read from its beginning.
        await client.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        let next = await client.head().status
        #expect(isClosed || next == 200)
      } else {
        // What is no request leaves nothing to go on with.
        #expect(isClosed && statuses.allSatisfy { (400..<500).contains($0) })
      }
      #expect(count(server, "openapi") == 0)
      try await expectHonest(server, through: server.port)
    }
  }

  @Test(.enabled(if: Nginx.isThere, "script/test installs nginx"), arguments: cases)
  func `and so it is behind nginx, whose connections several clients share`(
    _ example: Case
  ) async throws {
    try await LiveServer.run { server async throws in
      try await Nginx.run(before: server, reuses: true) { port in
        let client = try RawClient(port: port)
        let (statuses, _) = await send(example, server, over: client)
        // nginx takes a size that ends with a bare line feed. Where it reads two requests by that,
        // it sends two, and answers both: none is hidden from it.
        #expect(count(server) <= statuses.count, "\(statuses)")
        #expect(!example.isWhole || statuses.count == 1)
        try await expectHonest(server, through: port)
      }
    }
  }
}
#endif
