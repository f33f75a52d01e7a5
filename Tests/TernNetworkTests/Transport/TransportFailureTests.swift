#if os(Linux)
import Foundation
import Synchronization
import Testing

@testable import TernNetwork

@Suite("Transport: what goes wrong on the way has a name", .timeLimit(.minutes(1)))
struct TransportFailureTests {
  @Test("a port on which nothing listens refuses", arguments: TransportKind.allCases)
  func refused(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let port = try LocalServer.closedPort()
    let error = await transport.error(
      of: HTTPRequest(.get, "http://127.0.0.1:\(port)/secret?key=secret"))
    #expect(error?.code == .connectionRefused)
    #expect(error?.advice == .unreachable)
    #expect(error.map { "\($0)".contains("secret") } == false)
  }

  @Test("a name that no one has is not resolved", arguments: TransportKind.allCases)
  func unresolved(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    // No server is asked for a label of 64 letters: it could take longer to say no than to connect.
    let name = String(repeating: "a", count: 64)
    let error = await transport.error(of: HTTPRequest(.get, "http://\(name).invalid/"))
    #expect(error?.code == .unresolvedHost)
  }

  @Test(
    "a timeout ends an exchange that got no answer, and one in the middle of its body",
    arguments: TransportKind.allCases)
  func timeout(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      if request.line.contains("/body") {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let limit = Duration.milliseconds(80)
    let silent = await expectEnd(at: limit) {
      await transport.error(of: HTTPRequest(.get, server.url, timeout: limit))
    }
    #expect(silent?.code == .timedOut)
    let body = HTTPRequest(.get, server.url + "/body", timeout: limit)
    let cut = await expectEnd(at: limit) { await transport.error(of: body, reading: 10) }
    #expect(cut?.code == .timedOut)
  }

  @Test(
    "nobody who takes the connection, or who ends it in TLS, is no connection in time",
    arguments: TransportKind.allCases)
  func connectTimeout(_ kind: TransportKind) async throws {
    try kind.skip(.connecting)
    let transport = try kind.make()
    let (deaf, mute) = (try DeafServer(), try LocalServer { $0.waitForEnd() })
    defer { mute.stop() }
    for url in [deaf.url, "https://127.0.0.1:\(mute.port)/"] {
      var request = HTTPRequest(.post, url, timeout: .seconds(40), idleTimeout: .seconds(40))
      request.connectTimeout = .milliseconds(300)
      let error = await expectEnd(at: request.connectTimeout) {
        await transport.error(of: request)
      }
      #expect(error?.code == .connectTimeout, "\(url)")
      #expect(error?.advice == .unreachable)
      #expect(error?.mayHaveArrived == false)
    }
  }

  @Test(
    "a connection that drips is no silent one, a silent one is ended",
    arguments: TransportKind.allCases)
  func idle(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
      // Ten drips take longer than the idle timeout, none of the pauses between them does.
      for _ in 0..<10 {
        connection.write("x")
        if connection.isClosed(within: 250) { return }
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let request = HTTPRequest(.get, server.url, idleTimeout: .seconds(2))
    let response = try await transport.send(request)
    var count = 0
    let error = await failure(HTTPError.self) {
      for try await chunk in response.body { count += chunk.count }
    }
    #expect(count == 10)
    #expect(error?.code == .idleTimeout)
  }

  @Test(
    "an exchange in which nothing moves is ended, whichever way it was to go",
    arguments: TransportKind.allCases)
  func stalled(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let ended = Signal()
    let server = try LocalServer { connection in
      guard let request = connection.readHead() else { return }
      // An upload of which nothing is read, or half of an answer.
      if request.byteCount == 0 {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      }
      ended.block()
    }
    defer {
      ended.fire()
      server.stop()
    }
    let file = try TemporaryFile()
    try file.truncate(to: 64 << 20)
    let body = HTTPRequest.Body.segments([.file(FileSegment(file.path))])
    let upload = HTTPRequest(
      .put, server.url, body: body, timeout: .seconds(30), idleTimeout: .seconds(1))
    let unread = await expectEnd(at: .seconds(1)) { await transport.error(of: upload) }
    #expect(unread?.code == .idleTimeout)
    let download = HTTPRequest(
      .get, server.url, timeout: .seconds(30), idleTimeout: .seconds(1))
    let cut = await expectEnd(at: .seconds(1)) { await transport.error(of: download, reading: 10) }
    #expect(cut?.code == .idleTimeout)
  }

  @Test("an upload that is read slowly is not silent")
  func slowUpload() async throws {
    let server = try LocalServer(isNarrow: true) { connection in
      guard connection.readRequest() != nil else { return }
      connection.narrowClient()
      connection.answer()
      guard let upload = connection.readHead() else { return }
      var left = upload.byteCount
      while left > 0 {
        let count = min(4096, left)
        guard connection.read(count) != nil else { return }
        left -= count
        // What libcurl takes at once lasts for two seconds, and what the system does for a part of one.
        // real time: libcurl's timeouts are the system's.
        if left > 48 << 10 { poll(nil, 0, 100) }
      }
      connection.answer(body: [1])
    }
    defer { server.stop() }
    let transport = CurlTransport()
    _ = try await transport.send(HTTPRequest(.get, server.url)).collect(limit: 0)
    let upload = HTTPRequest(
      .put, server.url, body: .bytes(noise(128 << 10)), timeout: .seconds(50),
      idleTimeout: .seconds(1))
    let error = await transport.error(of: upload, reading: 1)
    #expect(error == nil)
    #expect(server.connectionCount == 1)
  }

  @Test(
    "silence that the reader asked for by not reading is not counted",
    arguments: TransportKind.allCases)
  func pausedIsNotIdle(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let bytes = noise(8 << 20)
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        connection.answer(body: request.line.contains("/large") ? bytes : [])
        if !request.line.contains("/large") { connection.waitForEnd() }
      }
    }
    defer { server.stop() }
    let large = HTTPRequest(.get, server.url + "/large", idleTimeout: .seconds(1))
    let response = try await transport.send(large)
    // Another exchange that runs into its own, longer limit is the clock here.
    let silent = try LocalServer { $0.waitForEnd() }
    defer { silent.stop() }
    let clock = HTTPRequest(.get, silent.url, timeout: .seconds(3))
    #expect(await transport.error(of: clock) != nil)
    #expect(try await response.collect(limit: bytes.count) == bytes)
  }

  @Test(
    "a connection that is cut gives what had come and then says so",
    arguments: TransportKind.allCases)
  func cut(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      if request.line.contains("/body") {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
      }
    }
    defer { server.stop() }
    let early = await transport.error(of: HTTPRequest(.get, server.url))
    #expect(early?.code == (kind.isLibcurl ? .connectionLost : .invalidAnswer))
    let response = try await transport.send(HTTPRequest(.get, server.url + "/body"))
    var received: [UInt8] = []
    let late = await failure(HTTPError.self) {
      for try await chunk in response.body { received += chunk }
    }
    #expect(received == Array("12345".utf8))
    #expect(late?.code == .connectionLost)
  }

  @Test(
    "a request is sent twice only when it may be repeated, with a body and without",
    arguments: TransportKind.allCases, [true, false])
  func staleConnection(_ kind: TransportKind, isRepeatable: Bool) async throws {
    try kind.skip(.repetition)
    for body in [HTTPRequest.Body.bytes([1, 2, 3]), .bytes([]), .empty] {
      try await send(over: kind, body, isRepeatable: isRepeatable)
    }
  }

  /// Twice over a connection that is kept, and closed as the second has come.
  private func send(
    over kind: TransportKind, _ body: HTTPRequest.Body, isRepeatable: Bool
  ) async throws {
    let transport = try kind.make()
    let requestCount = Mutex(0)
    let server = try LocalServer { connection in
      // Answers the first and the third request; closes on the second as if it had never come.
      while connection.readRequest() != nil {
        let count = requestCount.withLock { count in
          count += 1
          return count
        }
        if count == 2 { return }
        connection.answer(body: [1])
      }
    }
    defer { server.stop() }
    var request = HTTPRequest(.post, server.url, body: body)
    request.isRepeatable = isRepeatable
    _ = try await transport.send(request).collect(limit: 1)
    let second = await transport.error(of: request, reading: 1)
    #expect(second?.code == (isRepeatable ? nil : .connectionLost))
    #expect(requestCount.withLock { $0 } == (isRepeatable ? 3 : 2))
  }

  @Test(
    "an answer that is not HTTP is refused", arguments: TransportKind.allCases,
    ["hello\r\n\r\n", "HTTP/1.1 9\r\n\r\n"])
  func nonsense(_ kind: TransportKind, answer: String) async throws {
    try kind.skip(.causes)
    let transport = try kind.make()
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write(answer)
    }
    defer { server.stop() }
    let error = await transport.error(of: HTTPRequest(.get, server.url))
    #expect(error?.code == .invalidAnswer)
  }

  @Test("TLS to a server that speaks none fails as TLS", arguments: TransportKind.allCases)
  func tls(_ kind: TransportKind) async throws {
    try kind.skip(.causes)
    let transport = try kind.make()
    let server = try LocalServer { $0.write("HTTP/1.1 400 Bad\r\n\r\n") }
    defer { server.stop() }
    let error = await transport.error(of: HTTPRequest(.get, "https://127.0.0.1:\(server.port)/"))
    #expect(error?.code == .tls)
  }

  @Test(
    "a body over the reader's limit is refused, with and without an announced length",
    arguments: TransportKind.allCases)
  func tooLarge(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      if request.line.contains("/announced") {
        connection.answer(body: noise(11))
      } else {
        connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12345678901")
      }
    }
    defer { server.stop() }
    for path in ["/announced", "/open"] {
      let error = await transport.error(of: HTTPRequest(.get, server.url + path), reading: 10)
      #expect(error?.code == .bodyTooLarge)
    }
  }

  @Test("shutting down ends what runs and refuses what follows", arguments: TransportKind.allCases)
  func shutdown(_ kind: TransportKind) async throws {
    let transport = try kind.make()
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let response = try await transport.send(HTTPRequest(.get, server.url))
    await transport.shutdown()
    await transport.shutdown()
    let running = await failure(HTTPError.self) { _ = try await response.collect(limit: 10) }
    #expect(running?.code == .shutDown)
    let later = await transport.error(of: HTTPRequest(.get, server.url))
    #expect(later?.code == .shutDown)
  }
}
#endif
