import Foundation
import TernCore
import TernTesting
import Testing

@testable import TernNetwork

@Suite("Service: one service")
struct HTTPServiceTests {
  private static let url = URL(string: "https://scan.example.org/base/")!

  private func service(
    _ answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse = { _ in .json("{}") }
  ) -> HTTPService {
    HTTPService(Self.url, headers: ["X-Device-ID": "d"], over: ScriptedTransport(answer))
  }

  @Test func `a request may be silent for a minute unless it says otherwise`() throws {
    #expect(HTTPRequest(.get, Self.url).idleTimeout == .seconds(60))
    #expect(try service().request(.get, "jobs").idleTimeout == .seconds(60))
    #expect(try service().request(.get, "jobs", idleTimeout: nil).idleTimeout == nil)
  }

  @Test(
    "a path and a whole URL of the service are asked for with its headers and the token",
    arguments: [
      ("/v3/jobs", "https://scan.example.org/v3/jobs"),
      ("jobs?a=1", "https://scan.example.org/base/jobs?a=1"),
      ("HTTPS://Scan.Example.org:443/v3", "HTTPS://Scan.Example.org:443/v3"),
    ])
  func own(reference: String, url: String) throws {
    let request = try service().request(
      .get, reference, bearer: "secret", timeout: .seconds(1), idleTimeout: .seconds(2))
    #expect(request.url == url)
    #expect(request.headers["X-Device-ID"] == "d")
    #expect(request.headers["Authorization"] == "Bearer secret")
    #expect(request.timeout == .seconds(1))
    #expect(request.idleTimeout == .seconds(2))
    #expect(try service().request(.get, reference).headers["Authorization"] == nil)
  }

  @Test("a request's own header fields take the place of the service's of their name")
  func ownHeaders() throws {
    let request = try service().request(
      .get, "/v3", headers: ["x-device-id": "e", "Accept": "text/plain", "Accept": "text/html"],
      bearer: "secret")
    #expect(request.headers.values("X-Device-ID") == ["e"])
    #expect(request.headers.values("Accept") == ["text/plain", "text/html"])
    #expect(request.headers["Authorization"] == "Bearer secret")
  }

  @Test(
    "a URL that leads to another host, port or scheme is refused",
    arguments: [
      "https://evil.example.org/v3", "//evil.example.org/v3", "https://scan.example.org:444/",
      "http://scan.example.org/",
    ])
  func other(reference: String) throws {
    let error = #expect(throws: HTTPError.self) {
      try service().request(.get, reference, bearer: "secret")
    }
    #expect(error?.code == .otherOrigin)
    #expect(error?.advice == .permanent)
    #expect(error?.mayHaveArrived == false)
    #expect("\(try #require(error))".hasPrefix("the URL leads away from the service"))
  }

  @Test("a request that somebody made for another service is not sent")
  func foreignRequest() async throws {
    let service = service { request in
      Issue.record("sent: \(request)")
      return .json("{}")
    }
    let request = HTTPRequest(.get, "https://evil.example.org/v3", headers: ["X-Device-ID": "d"])
    let error = await #expect(throws: HTTPError.self) { try await service.answer(to: request) }
    #expect(error?.code == .otherOrigin)
  }

  @Test(
    "a reference is resolved as RFC 3986 has it, whatever path and query the service's URL has",
    arguments: [
      ("https://a.example/api", "/v3/jobs", "https://a.example/v3/jobs"),
      ("https://a.example/api/?key=1", "/v3/jobs", "https://a.example/v3/jobs"),
      ("https://a.example/api", "v3/jobs", "https://a.example/v3/jobs"),
      ("https://a.example/api/", "v3/jobs", "https://a.example/api/v3/jobs"),
    ])
  func base(service: String, reference: String, url: String) throws {
    let service = HTTPService(
      try #require(URL(string: service)), over: ScriptedTransport { _ in .json("{}") })
    #expect(try service.request(.get, reference).url == url)
  }

  @Test(
    "only 200 to 299 is an answer, everything else its problem", arguments: [199, 300, 404, 500])
  func problem(status: Int) async throws {
    let refusing = service { _ in .json(#"{"code":"GONE"}"#, status: status) }
    let request = try refusing.request(.get, "/")
    let problem = await #expect(throws: HTTPProblem.self) {
      try await refusing.answer(to: request)
    }
    #expect(problem?.status == status)
    #expect(problem?.code == "GONE")
    for status in [200, 204, 299] {
      let service = service { _ in .json("", status: status) }
      #expect(try await service.answer(to: request).status == status)
    }
  }

  @Test("a body is read as JSON, up to a limit")
  func json() async throws {
    #expect(try await HTTPResponse.json("[1,2]").json([Int].self) == [1, 2])
    for text in ["", "{}", #"["secret"]"#] {
      let error = await #expect(throws: HTTPError.self) {
        try await HTTPResponse.json(text).json([Int].self)
      }
      #expect(error?.code == .unexpectedBody)
      #expect(error?.advice == .failed)
      #expect(error?.mayHaveArrived == true)
      #expect(!"\(try #require(error))".contains("secret"))
    }
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPResponse.json("[1,2]").json([Int].self, limit: 4)
    }
    #expect(error?.code == .bodyTooLarge)
  }

  @Test(
    "only a proxy's answer leaves open what the server did",
    arguments: [(400, false), (429, false), (500, false), (502, true), (503, false), (504, true)])
  func proxy(status: Int, mayHaveArrived: Bool) {
    #expect(HTTPProblem(status: status).mayHaveArrived == mayHaveArrived)
  }

  @Test(
    "what broke before the request was whole has not arrived",
    arguments: [
      (HTTPError.Code.connectionRefused, false), (.connectTimeout, false), (.tls, false),
      (.fileChanged, false), (.fileUnreadable, false), (.connectionLost, true),
      (.idleTimeout, true), (.timedOut, true), (.invalidAnswer, true), (.shutDown, true),
    ])
  func arrival(code: HTTPError.Code, mayHaveArrived: Bool) {
    #expect(HTTPError(code, origin: nil, "").mayHaveArrived == mayHaveArrived)
  }
}
