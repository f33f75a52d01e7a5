#if os(Linux)
import Synchronization
import Testing

@testable import TernNetwork

/// Cases of LaunchDarkly's contract tests that are about the request and the connection.
@Suite("Stream: events over a real socket", .timeLimit(.minutes(1)))
struct EventStreamWireTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

  /// “POST request” and “REPORT request” of `tests_http_behavior.go`, “resends request body if any when
  /// reconnecting” of `tests_reconnection.go`: Tern's caller opens the next stream with the same request.
  @Test(
    "a request's method and body are sent for its events, and again for those after them",
    arguments: TransportKind.allCases, ["POST", "REPORT"])
  func body(_ kind: TransportKind, method: String) async throws {
    let asked = Mutex<[Connection.Request]>([])
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      asked.withLock { $0.append(request) }
      // Broken in the middle of its second event, which 100 bytes do not hold.
      connection.write(
        Self.head + "Content-Length: 100\r\n\r\nid: abc\ndata: Hello\n\nid: def\ndata: no")
    }
    defer { server.stop() }
    let json = #"{"hello": "world"}"#
    let request = HTTPRequest(
      HTTPRequest.Method(rawValue: method), server.url + "/events",
      headers: ["Content-Type": "application/json; charset=utf-8"], body: .bytes(Array(json.utf8)),
      timeout: .seconds(30))
    let transport = try kind.make()
    var stored = ""
    for _ in 0..<2 {
      let stream = try #require(
        try await EventStream.open(request, after: stored, over: transport))
      var events: [ServerEvent] = []
      let error = await failure(HTTPError.self) {
        for try await event in stream { events.append(event) }
      }
      #expect(events == [ServerEvent(data: "Hello", id: "abc")])
      #expect(error?.code == .connectionLost)
      stored = events.last?.id ?? "none"
    }
    let requests = asked.withLock { $0 }
    #expect(requests.map(\.line) == Array(repeating: "\(method) /events HTTP/1.1", count: 2))
    #expect(requests.map { $0.headers["last-event-id"] } == [nil, "abc"])
    for request in requests {
      #expect(String(decoding: request.body, as: UTF8.self) == json)
      #expect(request.headers["content-type"] == "application/json; charset=utf-8")
      #expect(request.headers["accept"] == "text/event-stream")
    }
  }

  /// “large message in one chunk” and “in two chunks” of `tests_basic_parsing.go`, in more sizes.
  @Test(
    "an event of any size within the limits, in one piece and in two",
    arguments: [1, 1000, 16_383, 16_384, 65_537, 262_144, (1 << 20) - 6, 5 << 20])
  func sizes(byteCount: Int) async throws {
    let data = String(
      decoding: noise(byteCount).map { UInt8(ascii: "a") + $0 % 26 }, as: UTF8.self)
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(Self.head + "Connection: close\r\n\r\n")
      connection.write("data: \(data)\n\n")
      connection.write("data: \(data.prefix(byteCount / 2))")
      connection.write("\(data.dropFirst(byteCount / 2))\n\ndata: end\n\n")
    }
    defer { server.stop() }
    var limit = EventStreamParser.Limit()
    if byteCount > 1 << 20 { (limit.lineBytes, limit.eventBytes) = (8 << 20, 8 << 20) }
    let stream = try #require(
      try await EventStream.open(
        HTTPRequest(.get, server.url, timeout: .seconds(30)), over: CurlTransport(), limit: limit))
    for expected in [data, data, "end"] {
      // Not the data themselves, of which a failure would print megabytes.
      let isEqual = try await stream.next()?.data == expected
      #expect(isEqual)
    }
    #expect(try await stream.next() == nil)
  }

  @Test("a line of one byte more than the limit is refused, and so is all after it")
  func overLimit() async throws {
    let server = try LocalServer { connection in
      guard connection.readRequest() != nil else { return }
      connection.write(Self.head + "Connection: close\r\n\r\n")
      let data = String(repeating: "x", count: (1 << 20) - 5)
      connection.write("data: a\n\ndata: \(data)\n\ndata: b\n\n")
    }
    defer { server.stop() }
    let stream = try #require(
      try await EventStream.open(
        HTTPRequest(.get, server.url, timeout: .seconds(30)), over: CurlTransport()))
    #expect(try await stream.next()?.data == "a")
    let error = await failure(EventStreamError.self) { _ = try await stream.next() }
    #expect(error?.code == .lineTooLong)
  }
}
#endif
