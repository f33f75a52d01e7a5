import Foundation
import TernCore
import TernTesting
import Testing

@testable import TernNetwork

@Suite("Stream: a stream of events, from asking for it to its end", .timeLimit(.minutes(1)))
struct EventStreamTests {
  private static let request = HTTPRequest(
    .get, "http://a/events", headers: ["Authorization": "Bearer secret-token"])

  private func answer(
    _ status: Int, _ text: String = "", type: String = "text/event-stream; charset=utf-8"
  ) -> ScriptedTransport {
    ScriptedTransport { _ in
      HTTPResponse(
        status: status, headers: ["Content-Type": type], body: HTTPBody(Array(text.utf8)))
    }
  }

  @Test("each event carries the id to store, and the server's wish for a pause is known")
  func events() async throws {
    let text =
      "retry: 2500\nid: 2\ndata: a\n\n: sign of life\n\ndata: b\n\nid: 3\nevent: x\ndata: c\n\n"
      + "id: 4\ndata: cut"
    let transport = answer(200, text)
    let stream = try #require(
      try await EventStream.open(Self.request, after: "1", over: transport))
    var events: [ServerEvent] = []
    for try await event in stream { events.append(event) }
    #expect(
      events == [
        ServerEvent(data: "a", id: "2"), ServerEvent(data: "b", id: "2"),
        ServerEvent(name: "x", data: "c", id: "3"),
      ])
    #expect(await stream.reconnectionTime == .milliseconds(2500))
    #expect(try await stream.next() == nil)
    let sent = try #require(transport.requests.first)
    #expect(sent.headers["accept"] == "text/event-stream")
    #expect(sent.headers["cache-control"] == "no-cache")
    #expect(sent.headers["last-event-id"] == "1")
    #expect(sent.headers["authorization"] == "Bearer secret-token")
  }

  /// As `format-mime-*` and `format-utf-8` of the web platform's tests have it.
  @Test(
    "a stream is told by its type, whatever its parameters, and is UTF-8 whatever they say",
    arguments: [
      ("text/event-stream", true), ("text/event-stream;", true),
      ("TEXT/Event-Stream;x bogus", true),
      ("text/event-stream;charset=windows-1252", true), ("x bogus", false), ("", false),
      ("text/event-stream-bogus", false), ("application/json", false),
    ])
  func types(type: String, isStream: Bool) async throws {
    let transport = answer(200, "data:ok…\n\n", type: type)
    if isStream {
      let stream = try #require(try await EventStream.open(Self.request, over: transport))
      #expect(try await stream.next()?.data == "ok…")
    } else {
      let error = await failure(EventStreamError.self) {
        _ = try await EventStream.open(Self.request, over: transport)
      }
      #expect(error?.code == .notAnEventStream)
    }
  }

  @Test(
    "no id is sent where there is none, or where no header field can hold it",
    arguments: ["", "a\u{1}b"])
  func noID(id: String) async throws {
    let transport = answer(200)
    _ = try await EventStream.open(Self.request, after: id, over: transport)
    #expect(try #require(transport.requests.first).headers["Last-Event-ID"] == nil)
  }

  /// As `request-status-error` of the web platform's tests has it, and more.
  @Test(
    "another status than 200 and 204 is its problem, also with events behind it",
    arguments: [205, 206, 210, 299, 302, 404, 410, 500, 503])
  func statuses(status: Int) async throws {
    for transport in [
      answer(status, "data: data\n\n"),
      answer(status, #"{"code":"GONE"}"#, type: "application/problem+json"),
    ] {
      let problem = await failure(HTTPProblem.self) {
        _ = try await EventStream.open(Self.request, over: transport)
      }
      #expect(problem?.status == status)
    }
  }

  @Test("204 is the end for good; a problem has its code, another type is no stream")
  func refusals() async throws {
    #expect(try await EventStream.open(Self.request, over: answer(204)) == nil)
    let gone = answer(410, #"{"code":"GONE"}"#, type: "application/problem+json")
    let problem = await failure(HTTPProblem.self) {
      _ = try await EventStream.open(Self.request, over: gone)
    }
    #expect(problem?.code == "GONE")
    for type in ["text/html", ""] {
      let error = await failure(EventStreamError.self) {
        _ = try await EventStream.open(Self.request, over: answer(200, "data: a\n\n", type: type))
      }
      #expect(error?.code == .notAnEventStream)
      #expect(error?.advice == .failed)
    }
  }

  @Test(
    "an event over its limit ends the stream after those before it, however they arrive",
    arguments: [["data: a\n\n", "data: 0123456789\n\n"], ["data: a\n\ndata: 0123456789\n\n"]])
  func limit(pieces: [String]) async throws {
    var limit = EventStreamParser.Limit()
    limit.lineBytes = 10
    let rest = Pieces(pieces.map { Array($0.utf8) })
    let stream = EventStream(HTTPBody { rest.next() }, limit: limit)
    #expect(try await stream.next()?.data == "a")
    for _ in 0..<2 {
      let error = await failure(EventStreamError.self) { _ = try await stream.next() }
      #expect(error?.code == .lineTooLong)
      #expect(error?.advice == .permanent)
    }
  }

  #if os(Linux)
  @Test("what came before a connection broke is handled, and the next stream begins after it")
  func broken() async throws {
    let server = try LocalServer { connection in
      guard let request = connection.readRequest() else { return }
      let after = request.headers["last-event-id"].flatMap { Int($0) } ?? 0
      connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
      for id in after + 1...after + 2 { connection.write(chunk("id: \(id)\ndata: \(id)\n\n")) }
      // The second connection ends as it should, the first in the middle of an event.
      connection.write(after > 0 ? "0\r\n\r\n" : chunk("id: 3\ndata: 3\n"))
    }
    defer { server.stop() }
    let transport = CurlTransport()
    var stored = ""
    var handled: [String] = []
    for isLast in [false, true] {
      let request = HTTPRequest(.get, server.url)
      let stream = try #require(
        try await EventStream.open(request, after: stored, over: transport))
      let error = await failure(HTTPError.self) {
        for try await event in stream {
          handled.append(event.data)
          stored = event.id
        }
      }
      #expect(error?.code == (isLast ? nil : .connectionLost))
    }
    #expect(handled == ["1", "2", "3", "4"])
  }

  @Test(
    "signs of life keep a stream open, silence and its timeout end it", arguments: [true, false])
  func silence(isLively: Bool) async throws {
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
      // Until the client has gone, which a lively stream's client does at its timeout.
      // real time: libcurl's timeouts are the system's.
      if isLively { while connection.write(":\n\n") { usleep(20_000) } }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let request = HTTPRequest(
      .get, server.url, timeout: .seconds(isLively ? 4 : 60),
      idleTimeout: .milliseconds(isLively ? 2000 : 500))
    let error = await expectEnd(at: .milliseconds(isLively ? 4000 : 500)) {
      await failure(HTTPError.self) {
        let stream = try #require(try await EventStream.open(request, over: CurlTransport()))
        _ = try await stream.next()
      }
    }
    #expect(error?.code == (isLively ? .timedOut : .idleTimeout))
  }

  @Test(
    "letting go of a stream, or cancelling its reader, ends the exchange", arguments: [true, false])
  func end(isCancelled: Bool) async throws {
    let (ended, gotEvent) = (Signal(), Signal())
    let server = try LocalServer { connection in
      _ = connection.readRequest()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: a\n\n")
      connection.waitForEnd()
      ended.fire()
    }
    defer { server.stop() }
    let transport = CurlTransport()
    let task = Task {
      let request = HTTPRequest(.get, server.url)
      let stream = try #require(try await EventStream.open(request, over: transport))
      for try await _ in stream {
        gotEvent.fire()
        if !isCancelled { break }
      }
    }
    await gotEvent.wait()
    if isCancelled { task.cancel() }
    await ended.wait()
    #expect(await failure(CancellationError.self) { try await task.value } != nil || !isCancelled)
  }
  #endif
}

private func chunk(_ text: String) -> String {
  "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
}
