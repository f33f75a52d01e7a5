#if os(Linux)
import Synchronization
import Testing

@testable import TernNetwork

@Suite("Transport: every transport against a real server", .timeLimit(.minutes(1)))
struct TransportTests {
  @Test("8 MB go there and come back unchanged", arguments: TransportKind.allCases)
  func echo(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer.echo()
    defer { server.stop() }
    let bytes = noise(8 << 20)
    for _ in 0..<2 {
      let response = try await transport.send(HTTPRequest(.post, server.url, body: .bytes(bytes)))
      #expect(response.status == 200)
      #expect(try await response.collect(limit: 8 << 20) == bytes)
    }
    if kind.isLibcurl { #expect(server.connectionCount == 1) }
  }

  @Test(
    "method, path, query and header fields arrive as they were written",
    arguments: TransportKind.allCases)
  func head(_ kind: TransportKind) async throws {
    try kind.skip(.dots)
    let transport = try kind.make()
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        let empty = request.headers["x-empty"] == "" ? "empty" : "missing"
        let lines = [request.line, request.headers["x-a"] ?? "", empty]
        connection.answer(
          203, "Twice: 1\r\ntwice: 2 \r\n", body: Array(lines.joined(separator: "|").utf8))
      }
    }
    defer { server.stop() }
    let request = HTTPRequest(
      .patch, server.url + "/a/%2E%2E/b/../c?d=%20e", headers: ["X-A": "é;", "X-Empty": ""])
    let response = try await transport.send(request)
    #expect(response.status == 203)
    #expect(response.headers.values("TWICE") == ["1", "2"])
    let text = String(decoding: try await response.collect(limit: 1000), as: UTF8.self)
    #expect(text == "PATCH /a/%2E%2E/b/../c?d=%20e HTTP/1.1|é;|empty")
  }

  @Test(
    "a redirect is an answer and is not followed, so no credential crosses to another origin",
    arguments: TransportKind.allCases, [301, 302, 303, 307, 308])
  func redirect(_ kind: TransportKind, status: Int) async throws {
    let transport = try kind.make()
    let other = try LocalServer { connection in
      while connection.readRequest() != nil { connection.answer() }
    }
    defer { other.stop() }
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.answer(status, "Location: \(other.url)/\r\n")
      }
    }
    defer { server.stop() }
    for method in [HTTPRequest.Method.get, .post] {
      let response = try await transport.send(
        HTTPRequest(method, server.url, headers: ["Authorization": "Bearer secret"]))
      #expect(response.status == status)
      #expect(response.headers["location"] == "\(other.url)/")
    }
    #expect(other.connectionCount == 0)
  }

  @Test(
    "the first part of a body is read before the rest is sent", arguments: TransportKind.allCases)
  func streaming(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let wasRead = Signal()
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
      wasRead.block()
      connection.write("3\r\ntwo\r\n0\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.get, server.url))
    var chunks = response.body.makeAsyncIterator()
    #expect(try await chunks.next() == Array("one".utf8))
    wasRead.fire()
    #expect(try await chunks.next() == Array("two".utf8))
    #expect(try await chunks.next() == nil)
  }

  @Test(
    "a slow reader holds the server back: no more than the buffer and one chunk is in memory",
    arguments: TransportKind.allCases)
  func backPressure(_ kind: TransportKind) async throws {
    let transport = try kind.make(bodyBufferBytes: 32 << 10)
    let bytes = noise(16 << 20)
    let written = Mutex(0)
    let isHeld = Signal()
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
      let count = connection.write(bytes, untilHeldFor: 1000)
      written.withLock { $0 = count }
      isHeld.fire()
      connection.write(Array(bytes[count...]))
      connection.waitForEnd()
    }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.get, server.url))
    // Nothing is read until the server can write no more.
    await isHeld.wait()
    var received: [UInt8] = []
    // A read takes all that is buffered, so the longest one is the most that ever was.
    var longest = 0
    for try await chunk in response.body {
      longest = max(longest, chunk.count)
      received += chunk
    }
    #expect(received == bytes)
    #expect(longest <= 48 << 10)
    try kind.skip(.flat)
    // The systems at both ends hold some of it, too.
    #expect(written.withLock { $0 } < bytes.count / 2)
  }

  @Test(
    "200 requests at once are answered each with its own answer", arguments: TransportKind.allCases)
  func concurrent(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer.echo()
    defer { server.stop() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let bytes = Array("request \(number)".utf8)
          let request = HTTPRequest(.post, server.url, body: .bytes(bytes), timeout: .seconds(30))
          let answer = try await transport.send(request).collect(limit: 100)
          #expect(answer == bytes)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(
    "an informational answer is passed over, and HEAD has no body",
    arguments: TransportKind.allCases)
  func informational(_ kind: TransportKind) async throws {
    try kind.skip(.informational)
    let transport = try kind.make()
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
      }
    }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.head, server.url))
    #expect(response.status == 200)
    #expect(response.headers["Link"] == nil)
    #expect(try await response.body.collect(limit: 0).isEmpty)
  }
}
#endif
