import Foundation
import TernTesting
import Testing

@testable import Tern
@testable import TernNetwork

@Suite("Remote: what a server refuses, and why, reaches the sync")
struct HTTPRemoteErrorTests {
  /// Like a server or proxy that repeats what it was sent.
  static let token = "dG9rZW4tc2VjcmV0"

  private func error(
    token: @escaping @Sendable () async throws -> String = { Self.token },
    _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
  ) async -> RemoteError? {
    let url = URL(string: "https://sync.example.org")!
    let remote = HTTPRemote(
      url, space: "home", token: token, over: ScriptedTransport(answer))
    let error = await failure(RemoteError.self) { _ = try await remote.greet() }
    #expect(error.map { "\($0) \(String(reflecting: $0))".contains(Self.token) } != true)
    return error
  }

  @Test(
    "a problem's code is the error's, one that this version does not know included",
    arguments: [
      "unavailable", "unauthorized", "forbidden", "sequence-gap", "sequence-conflict",
      "time-ahead", "time-not-increasing", "cursor-unknown", "malformed", "too-large", "brand-new",
    ])
  func codes(code: String) async {
    let replica = ReplicaID(high: 1, low: 2)
    let error = await error { _ in
      .json(
        """
        {"type":"urn:tern:problem:\(code)","title":"No","status":409,"detail":"because",
        "replica":"\(replica)","sequence":7,"now":17}
        """, status: 409)
    }
    #expect(
      error
        == RemoteError(
          .init(rawValue: code), "No: because", replica: replica, sequence: 7,
          now: Date(milliseconds: 17)))
  }

  @Test(
    "an answer that is not Tern's is judged by its status",
    arguments: [
      (401, RemoteError.Code.unauthorized), (413, .tooLarge), (429, .unavailable),
      (500, .unavailable), (502, .unavailable), (302, .unexpectedAnswer), (404, .unexpectedAnswer),
      (204, .unexpectedAnswer),
    ])
  func statuses(status: Int, code: RemoteError.Code) async {
    let page = await error { _ in
      HTTPResponse(
        status: status, headers: ["Content-Type": "text/html", "Retry-After": "120"],
        body: HTTPBody(Array("<p>".utf8)))
    }
    #expect(page?.code == code)
    #expect(page?.retryAfter == .seconds(120))
    let stranger = await error { _ in .json(#"{"type":"about:blank"}"#, status: status) }
    #expect(stranger?.code == code)
    let broken = await error { _ in .json("{", status: status) }
    #expect(broken?.code == code)
  }

  @Test("a login page with status 200 is no answer of a Tern server")
  func portal() async {
    let page = await error { _ in
      HTTPResponse(status: 200, headers: ["Content-Type": "text/html"])
    }
    #expect(page?.code == .unexpectedAnswer)
    #expect(await error { _ in .json("[]") }?.code == .unexpectedAnswer)
    let heads = #"{"epoch":"e","now":1,"position":1,"heads":{"nobody":1}}"#
    #expect(await error { _ in .json(heads) }?.code == .unexpectedAnswer)
  }

  @Test("a batch that can't be read, or lacks its cursor, is unexpected and never half a page")
  func brokenPage() async {
    let whole: HTTPHeaders = [
      "Content-Type": RemoteAnswer.batchType, "Tern-Cursor": "c", "Tern-More": "0", "Tern-Now": "1",
    ]
    for missing in ["Tern-Cursor", "Tern-More", "Tern-Now", nil] {
      var headers = whole
      if let missing { headers[missing] = nil }
      let body = missing == nil ? [1, 2, 3] : OperationBatch([]).encoded()
      let transport = ScriptedTransport { [headers] _ in
        HTTPResponse(status: 200, headers: headers, body: HTTPBody(body))
      }
      let url = URL(string: "https://sync.example.org")!
      let remote = HTTPRemote(url, space: "home", token: { "t" }, over: transport)
      let error = await failure(RemoteError.self) {
        _ = try await remote.pull(after: nil, excluding: ReplicaID(high: 0, low: 1))
      }
      #expect(error?.code == .unexpectedAnswer)
    }
  }

  @Test(
    "an exchange without an answer means that the remote is unreachable, and can be repeated",
    arguments: [
      HTTPError.Code.unresolvedHost, .connectionRefused, .unreachable, .connectTimeout, .tls,
      .timedOut, .idleTimeout, .connectionLost, .invalidAnswer, .shutDown,
    ])
  func unreachable(code: HTTPError.Code) async {
    let error = await error { _ in throw HTTPError(code, origin: nil, "for a test") }
    #expect(error?.code == .unreachable)
    #expect(error?.isTransient == true)
  }

  @Test("an address without a scheme is the app's to correct, and no network that is away")
  func noScheme() async {
    for address in ["localhost:8080", "sync.example.org", "/sync", "ftp://sync.example.org"] {
      let remote = HTTPRemote(URL(string: address)!, space: "home", token: { "t" })
      let error = await failure(RemoteError.self) { _ = try await remote.greet() }
      #expect(error?.code == .invalidAddress && error?.isTransient == false)
    }
  }

  @Test("a server that repeats the token in its reason does not bring it into a log")
  func echoedToken() async {
    let error = await error { request in
      let sent = request.headers["Authorization"] ?? ""
      let problem = #"{"type":"urn:tern:problem:unauthorized","detail":"\#(sent)"}"#
      return .json(problem, status: 401)
    }
    #expect(error?.message == "Bearer (token)")
    #expect(error?.code == .unauthorized)
  }

  @Test("a reason is short, whatever its letters are made of")
  func longReason() async {
    let error = await error { _ in
      let reason = "e" + String(repeating: "\u{301}", count: 10_000)
      let problem = #"{"type":"urn:tern:problem:unauthorized","detail":"\#(reason)"}"#
      return .json(problem, status: 401)
    }
    #expect(error?.message.unicodeScalars.count == 500)
    #expect(error?.code == .unauthorized)
  }

  @Test("a token that can't be had, or that would break out of its header field, is unauthorized")
  func badToken() async throws {
    struct Leaky: Error, CustomStringConvertible {
      var description: String { HTTPRemoteErrorTests.token }
    }
    let none: @Sendable (HTTPRequest) throws -> HTTPResponse = { request in
      _ = try request.validated()
      return .json("")
    }
    #expect(await error(token: { throw Leaky() }, none)?.code == .unauthorized)
    let injected = await error(token: { Self.token + "\r\nX: y" }, none)
    #expect(injected?.code == .unauthorized)
    let own = await error(token: { throw RemoteError(.unavailable, "asleep") }, none)
    #expect(own?.code == .unavailable)
  }

  @Test("a cancellation stays one; somebody else's, behind the token, is a missing token")
  func cancellation() async {
    let url = URL(string: "https://sync.example.org")!
    let transport = ScriptedTransport { _ in throw CancellationError() }
    let remote = HTTPRemote(url, space: "home", token: { "t" }, over: transport)
    #expect(await failure(CancellationError.self) { _ = try await remote.greet() } != nil)
    let stream = await failure(CancellationError.self) {
      for try await _ in remote.positions(after: nil) {}
    }
    #expect(stream != nil)
    // The engine takes a cancellation for its own and would end.
    let foreign = HTTPRemote(
      url, space: "home", token: { throw CancellationError() }, over: transport)
    let error = await failure(RemoteError.self) { _ = try await foreign.greet() }
    #expect(error?.code == .unauthorized)
  }
}
