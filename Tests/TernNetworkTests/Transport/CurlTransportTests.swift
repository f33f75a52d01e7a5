#if os(Linux)
import Testing

@testable import TernNetwork

@Suite("libcurl against a real server", .timeLimit(.minutes(1)))
struct CurlTransportTests {
  let transport = CurlTransport()

  @Test("8 MB go there and come back unchanged")
  func echo() async throws {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() { connection.answer(body: request.body) }
    }
    defer { server.stop() }
    let bytes = noise(8 << 20)
    for _ in 0..<2 {
      let response = try await transport.send(HTTPRequest(.post, server.url, body: .bytes(bytes)))
      #expect(response.status == 200)
      #expect(try await response.collect(limit: 8 << 20) == bytes)
    }
    #expect(server.connectionCount == 1)
  }

  @Test("method, path, query and header fields arrive as they were written")
  func head() async throws {
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

  @Test("a redirect is an answer and is not followed, so no credential crosses to another origin")
  func redirect() async throws {
    let server = try LocalServer { connection in
      while connection.readRequest() != nil {
        connection.answer(307, "Location: http://127.0.0.1:1/\r\n")
      }
    }
    defer { server.stop() }
    let response = try await transport.send(
      HTTPRequest(.get, server.url, headers: ["Authorization": "Bearer secret"]))
    #expect(response.status == 307)
    #expect(response.headers["location"] == "http://127.0.0.1:1/")
  }

  @Test("the first part of a body is read before the rest is sent")
  func streaming() async throws {
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

  @Test("a slow reader holds the server back: no more than the buffer and one chunk is in memory")
  func backPressure() async throws {
    let bytes = noise(16 << 20)
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.answer(body: bytes)
      connection.waitForEnd()
    }
    defer { server.stop() }
    var configuration = CurlTransport.Configuration()
    configuration.bodyBufferBytes = 32 << 10
    let transport = CurlTransport(configuration)
    let response = try await transport.send(HTTPRequest(.get, server.url))
    var received: [UInt8] = []
    // A read takes all that is buffered, so the longest one is the most that ever was.
    var longest = 0
    for try await chunk in response.body {
      longest = max(longest, chunk.count)
      received += chunk
    }
    #expect(received == bytes)
    #expect(longest <= 48 << 10)
  }

  @Test("200 requests at once are answered each with its own answer")
  func concurrent() async throws {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() { connection.answer(body: request.body) }
    }
    defer { server.stop() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          let bytes = Array("request \(number)".utf8)
          let request = HTTPRequest(.post, server.url, body: .bytes(bytes), deadline: .seconds(30))
          let answer = try await transport.send(request).collect(limit: 100)
          #expect(answer == bytes)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("an informational answer is passed over, and HEAD has no body")
  func informational() async throws {
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
