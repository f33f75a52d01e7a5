import Foundation
import Synchronization
import TernTesting
import Testing

@testable import Tern
@testable import TernNetwork

@Suite("Remote: a space over HTTP")
struct HTTPRemoteTests {
  static let replica = ReplicaID(high: 1, low: 2)

  private func remote(
    space: String = "home", _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) -> (HTTPRemote, ScriptedTransport) {
    let transport = ScriptedTransport(answer)
    let url = URL(string: "https://user:secret@sync.example.org/base/?key=secret")!
    return (
      HTTPRemote(url, space: space, token: { "the-token" }, over: transport), transport
    )
  }

  @Test("its id is URL and space, without what could be a secret, whatever the space is called")
  func ids() {
    let base = "https://sync.example.org/base/v1/spaces/"
    for (space, escaped) in [
      ("home", "home"), ("a/b c", "a%2Fb%20c"), ("..", "%2E%2E"), ("é.%", "%C3%A9.%25"),
      ("a?b#c\n", "a%3Fb%23c%0A"),
    ] {
      #expect(remote(space: space) { _ in .json("") }.0.id == base + escaped)
    }
  }

  @Test("a greeting carries epoch, clock, position and heads")
  func greeting() async throws {
    let (remote, transport) = remote { _ in
      .json(#"{"epoch":"e1","now":17,"position":9,"heads":{"\#(Self.replica)":4}}"#)
    }
    let greeting = try await remote.greet()
    #expect(
      greeting
        == RemoteGreeting(
          epoch: "e1", now: Date(milliseconds: 17), position: 9,
          heads: VersionVector([Self.replica: 4])))
    let request = try #require(transport.requests.first)
    #expect(request.method == .get)
    #expect(request.url == "https://sync.example.org/base/v1/spaces/home")
    #expect(request.headers["authorization"] == "Bearer the-token")
    #expect(request.idleTimeout != nil)
  }

  @Test("a push is one batch and may be repeated")
  func push() async throws {
    let (remote, transport) = remote { _ in .json(#"{"now":17,"position":9,"accepted":2}"#) }
    let receipt = try await remote.push([])
    #expect(receipt == PushReceipt(now: Date(milliseconds: 17), position: 9, accepted: 2))
    let request = try #require(transport.requests.first)
    #expect(request.url.hasSuffix("/v1/spaces/home/operations"))
    #expect(request.headers["Content-Type"] == "application/vnd.tern.batch")
    #expect(request.method == .post)
    #expect(request.isRepeatable)
    guard case .bytes(let bytes, _) = request.body else { return #expect(Bool(false), "no body") }
    #expect(try OperationBatch(encoded: bytes) == OperationBatch([]))
  }

  @Test("a page carries its operations and where the next one begins")
  func pull() async throws {
    let (remote, transport) = remote { _ in
      HTTPResponse(
        status: 200,
        headers: [
          "Content-Type": "application/vnd.tern.batch", "Tern-Cursor": "e1-9", "Tern-More": "1",
          "Tern-Now": "17",
        ], body: HTTPBody(OperationBatch([]).encoded()))
    }
    let own = ReplicaID(high: 0, low: 255)
    let page = try await remote.pull(after: RemoteCursor(rawValue: "a b&c"), excluding: own)
    #expect(
      page
        == PulledPage(
          operations: [], cursor: RemoteCursor(rawValue: "e1-9"), hasMore: true,
          now: Date(milliseconds: 17)
        ))
    _ = try await remote.pull(after: nil, excluding: own)
    #expect(
      transport.requests.map(\.url).map { $0.split(separator: "/").last } == [
        "operations?excluding=\(own)&after=a%20b%26c", "operations?excluding=\(own)",
      ])
  }

  @Test("positions are given one by one until the connection ends, comments and strangers aside")
  func positions() async throws {
    let (remote, transport) = remote { _ in
      let text =
        ":\n\nevent: position\nid: 3\ndata: {\"position\":3}\n\nevent: new\ndata: x\n\n"
        + "event: position\ndata: {\"position\":5}\n\nevent: position\ndata: {\"posi"
      return HTTPResponse(
        status: 200, headers: ["Content-Type": "text/event-stream"],
        body: HTTPBody(Array(text.utf8)))
    }
    var positions: [UInt64] = []
    let cursor = RemoteCursor(rawValue: "a.5&")
    for try await position in remote.positions(after: cursor) { positions.append(position) }
    #expect(positions == [3, 5])
    let request = try #require(transport.requests.first)
    #expect(request.url.hasSuffix("/events?after=a.5%26"))
    #expect(request.timeout == nil)
    #expect(request.idleTimeout == .seconds(45))
    #expect(request.headers["Accept"] == "text/event-stream")
    #expect(request.headers["Accept-Encoding"] == "identity")
    #expect(request.headers["Cache-Control"] == "no-cache")
  }

  @Test(
    "INV-03: a position that can't follow the one before ends the stream, so that the space is greeted",
    arguments: [
      (#"{"position":4,"check":"aa"}"#, [5]), (#"{"position":5,"check":"bb"}"#, [5]),
      (#"{"position":5,"check":"aa"}"#, [5, 5, 7]), (#"{"position":5}"#, [5, 5, 7]),
      (#"{"position":6,"check":"bb"}"#, [5, 6, 7]),
    ] as [(String, [UInt64])])
  func history(second: String, told: [UInt64]) async throws {
    let (remote, _) = remote { _ in
      let text = [#"{"position":5,"check":"aa"}"#, second, #"{"position":7,"check":"cc"}"#]
        .map { "event: position\ndata: \($0)\n\n" }.joined()
      return HTTPResponse(
        status: 200, headers: ["Content-Type": "text/event-stream"],
        body: HTTPBody(Array(text.utf8)))
    }
    var positions: [UInt64] = []
    for try await position in remote.positions(after: nil) { positions.append(position) }
    #expect(positions == told)
  }

  @Test("a server that sends its devices away says how long each is to wait")
  func reconnectionTime() async throws {
    let (remote, _) = remote { _ in
      let text = "event: position\nid: 3\ndata: {\"position\":3}\n\nretry: 1700\n\n"
      return HTTPResponse(
        status: 200, headers: ["Content-Type": "text/event-stream"],
        body: HTTPBody(Array(text.utf8)))
    }
    var positions: [UInt64] = []
    let error = await #expect(throws: RemoteError.self) {
      for try await position in remote.positions(after: nil) { positions.append(position) }
    }
    #expect(positions == [3])
    #expect(error?.code == .unreachable && error?.retryAfter == .milliseconds(1700))
  }

  #if os(Linux)
  @Test("letting go of the positions, or cancelling who waits for one, ends the connection")
  func positionsEnd() async throws {
    for isCancelled in [false, true] {
      let ended = Signal()
      let server = try LocalServer { connection in
        guard connection.readRequest() != nil else { return }
        connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        connection.write("event: position\ndata: {\"position\":3}\n\n")
        connection.waitForEnd()
        ended.fire()
      }
      defer { server.stop() }
      let remote = HTTPRemote(
        URL(string: server.url)!, space: "home", token: { "t" }, over: CurlTransport())
      let isConnected = Signal()
      let seen = Mutex<[UInt64]>([])
      let task = Task {
        for try await position in remote.positions(after: nil) {
          seen.withLock { $0.append(position) }
          isConnected.fire()
          if !isCancelled { break }
        }
      }
      await isConnected.wait()
      if isCancelled { task.cancel() }
      await ended.wait()
      #expect(seen.withLock { $0 } == [3])
    }
  }
  #endif
}
