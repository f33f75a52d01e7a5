#if os(Linux)
import Synchronization
import TernTesting
import Testing

@testable import TernNetwork

@Suite("Transport: redirects that are followed", .timeLimit(.minutes(1)))
struct RedirectTests {
  private static let fields: HTTPHeaders = [
    "Authorization": "Bearer secret", "Cookie": "a=secret", "X-Goog-Api-Key": "secret",
    "Idempotency-Key": "7", "Accept": "text/plain", "Range": "bytes=1-", "Last-Event-ID": "5",
    "User-Agent": "Tern",
  ]

  /// Sends some paths on, answers every other one with its body, and keeps what it was asked.
  private final class Signpost: Sendable {
    private let server: LocalServer
    private let asked = Mutex<[Connection.Request]>([])
    private let places = Mutex<[String: (status: Int, fields: String)]>([:])

    init() throws {
      let running = Mutex<Signpost?>(nil)
      server = try LocalServer { connection in
        while let request = connection.readRequest() {
          guard let self = running.withLock({ $0 }) else { return }
          self.asked.withLock { $0.append(request) }
          let path = String(request.line.split(separator: " ")[1])
          if let place = self.places.withLock({ $0[path] }) {
            connection.answer(place.status, place.fields, body: Array("elsewhere".utf8))
          } else {
            connection.answer(200, "Content-Type: text/event-stream\r\n", body: request.body)
          }
        }
      }
      running.withLock { $0 = self }
    }

    var url: String { server.url }
    var requests: [Connection.Request] { asked.withLock { $0 } }
    var lines: [String] { requests.map { String($0.line.dropLast(" HTTP/1.1".count)) } }

    func lead(_ path: String, _ status: Int, to places: String...) {
      let fields = places.map { "Location: \($0)\r\n" }.joined()
      self.places.withLock { $0[path] = (status, fields) }
    }

    func stop() { server.stop() }
  }

  @Test(
    "within an origin, with all that the request carries", arguments: TransportKind.allCases,
    [301, 302, 303, 307, 308])
  func within(_ kind: TransportKind, status: Int) async throws {
    let server = try Signpost()
    defer { server.stop() }
    server.lead("/a/b?c", status, to: "../d/e?f=1#g")
    server.lead("/d/e?f=1", status, to: "\(server.url)/end#h")
    let transport = RedirectingTransport(over: try kind.make())
    for method in [HTTPRequest.Method.get, .head] {
      let response = try await transport.send(
        HTTPRequest(method, server.url + "/a/b?c", headers: Self.fields))
      #expect(response.status == 200)
    }
    #expect(
      server.lines == [
        "GET /a/b?c", "GET /d/e?f=1", "GET /end", "HEAD /a/b?c", "HEAD /d/e?f=1", "HEAD /end",
      ])
    for request in server.requests {
      for field in Self.fields.fields {
        #expect(request.headers[field.name.lowercased()] == field.value, "\(field.name)")
      }
    }
  }

  @Test(
    "to another origin without credentials, and back without them",
    arguments: TransportKind.allCases)
  func across(_ kind: TransportKind) async throws {
    let (own, other) = (try Signpost(), try Signpost())
    defer {
      own.stop()
      other.stop()
    }
    own.lead("/photo", 302, to: "\(other.url)/signed?key=1")
    other.lead("/signed?key=1", 307, to: "\(own.url)/back")
    let transport = RedirectingTransport(over: try kind.make())
    let response = try await transport.send(
      HTTPRequest(.get, "\(own.url)/photo", headers: Self.fields))
    #expect(response.status == 200)
    #expect(own.lines == ["GET /photo", "GET /back"])
    #expect(other.lines == ["GET /signed?key=1"])
    for request in other.requests + own.requests.dropFirst() {
      for name in ["authorization", "cookie", "x-goog-api-key", "idempotency-key"] {
        #expect(request.headers[name] == nil, "\(name)")
      }
      for name in ["accept", "range", "last-event-id", "user-agent"] {
        #expect(request.headers[name] == Self.fields[name], "\(name)")
      }
    }
  }

  @Test(
    "a request that does something is sent again as it is, and within its origin only",
    arguments: TransportKind.allCases, [301, 302, 303, 307, 308])
  func doing(_ kind: TransportKind, status: Int) async throws {
    let (own, other) = (try Signpost(), try Signpost())
    defer {
      own.stop()
      other.stop()
    }
    own.lead("/job", status, to: "/jobs")
    own.lead("/far", status, to: "\(other.url)/jobs")
    let transport = RedirectingTransport(over: try kind.make())
    let file = try TemporaryFile(noise(100_000))
    let body = HTTPRequest.Body.segments([.bytes([1, 2, 3]), .file(FileSegment(file.path))])
    let near = try await transport.send(
      HTTPRequest(.post, "\(own.url)/job", headers: Self.fields, body: body))
    if status < 307 {
      #expect(near.status == status)
      #expect(own.lines == ["POST /job"])
    } else {
      #expect(try await near.collect(limit: 1 << 20) == [1, 2, 3] + noise(100_000))
      #expect(own.lines == ["POST /job", "POST /jobs"])
      #expect(own.requests.allSatisfy { $0.headers["idempotency-key"] == "7" })
    }
    // URLSession sends no GET with a body.
    for method in [HTTPRequest.Method.post, .delete] + (kind.isLibcurl ? [.get] : []) {
      let far = try await transport.send(
        HTTPRequest(method, "\(own.url)/far", headers: Self.fields, body: .bytes([1])))
      #expect(far.status == status)
      #expect(far.headers["Location"] == "\(other.url)/jobs")
    }
    #expect(other.requests.isEmpty)
  }

  @Test("a circle ends: what comes after the last that is followed is the answer")
  func circle() async throws {
    let server = try Signpost()
    defer { server.stop() }
    server.lead("/a", 302, to: "/b")
    server.lead("/b", 302, to: "/a")
    for limit in [0, 1, 10] {
      let before = server.requests.count
      let transport = RedirectingTransport(over: CurlTransport(), limit: limit)
      let response = try await transport.send(HTTPRequest(.get, server.url + "/a"))
      #expect(response.status == 302)
      #expect(server.requests.count == before + limit + 1)
    }
  }

  @Test("a place where nothing can be asked for is not gone to")
  func places() async throws {
    let server = try Signpost()
    defer { server.stop() }
    let host = server.url.dropFirst("http://".count)
    server.lead("/none", 302)
    server.lead("/blank", 302, to: "")
    server.lead("/two", 302, to: "/x", "/y")
    server.lead("/file", 302, to: "file:///etc/passwd")
    server.lead("/user", 302, to: "http://ada:secret@\(host)/x")
    server.lead("/port", 302, to: "http://127.0.0.1:99999/x")
    server.lead("/kept", 304, to: "/x")
    server.lead("/choice", 300, to: "/x")
    let paths = ["/none", "/blank", "/two", "/file", "/user", "/port", "/kept", "/choice"]
    let transport = RedirectingTransport(over: CurlTransport())
    for path in paths {
      let response = try await transport.send(HTTPRequest(.get, server.url + path))
      #expect(300..<309 ~= response.status)
    }
    #expect(server.lines == paths.map { "GET \($0)" })
  }

  @Test("never from https to http; from http to https without credentials")
  func downgrade() async throws {
    let base = ScriptedTransport { request in
      let places = ["http://a/": "https://a/up", "https://a/up": "http://a/down"]
      let place = places[request.url].map { ["Location": $0] as HTTPHeaders }
      return HTTPResponse(status: place == nil ? 200 : 301, headers: place ?? [:])
    }
    let transport = RedirectingTransport(over: base)
    let response = try await transport.send(
      HTTPRequest(.get, "http://a/", headers: Self.fields))
    #expect(response.status == 301)
    #expect(response.headers["Location"] == "http://a/down")
    #expect(base.requests.map(\.url) == ["http://a/", "https://a/up"])
    #expect(base.requests.last?.headers["Authorization"] == nil)
  }

  @Test("one timeout is for all requests together")
  func timeout() async throws {
    let now = Mutex(ContinuousClock.now)
    let base = ScriptedTransport { _ in
      now.withLock { $0 += .seconds(2) }
      return HTTPResponse(status: 308, headers: ["Location": "/on"])
    }
    let transport = RedirectingTransport(over: base, limit: 10) { now.withLock { $0 } }
    let error = await transport.error(
      of: HTTPRequest(.put, "http://a/", body: .bytes([1]), timeout: .seconds(5)))
    #expect(error?.code == .timedOut)
    #expect(base.requests.map(\.timeout) == [.seconds(5), .seconds(3), .seconds(1)])
  }

  @Test("a body that is being read keeps to what is left of the timeout")
  func deadlineOfBody() async throws {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        if request.line.hasPrefix("GET / ") {
          connection.answer(302, "Location: /slow\r\n")
        } else {
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
          return connection.waitForEnd()
        }
      }
    }
    defer { server.stop() }
    let transport = RedirectingTransport(over: CurlTransport())
    let limit = Duration.milliseconds(300)
    let error = await expectEnd(at: limit) {
      await transport.error(of: HTTPRequest(.get, server.url + "/", timeout: limit), reading: 10)
    }
    #expect(error?.code == .timedOut)
  }

  /// As LaunchDarkly's contract tests and the web platform's have it.
  @Test(
    "events come from where they were moved to, after the last one",
    arguments: [301, 302, 303, 307])
  func events(status: Int) async throws {
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        if request.line.hasPrefix("GET /old ") {
          connection.answer(status, "Location: /new\r\n")
        } else {
          let data = "data: \(request.line), \(request.headers["last-event-id"] ?? "")\n\n"
          connection.answer(200, "Content-Type: text/event-stream\r\n", body: Array(data.utf8))
        }
      }
    }
    defer { server.stop() }
    let request = HTTPRequest(.get, server.url + "/old", timeout: .seconds(20))
    let transport = CurlTransport()
    let stream = try #require(
      try await EventStream.open(
        request, after: "5", over: RedirectingTransport(over: transport)))
    #expect(try await stream.next()?.data == "GET /new HTTP/1.1, 5")
    let problem = await failure(HTTPProblem.self) {
      _ = try await EventStream.open(request, over: transport)
    }
    #expect(problem?.status == status)
  }
}
#endif
