import TernCore
import Testing

@testable import TernNetwork

@Suite("Problem: why a server did not do what was asked")
struct HTTPProblemTests {
  private static let request = HTTPRequest(
    .get, "http://a/b:path-secret@c@example.org/?key=query%2Dsecret&short=abc",
    headers: [
      "Authorization": "Bearer header-secret", "Cookie": "session=cookie-secret; a=b",
      "Accept": "application/json",
    ])

  private func problem(
    _ status: Int, _ document: String, _ headers: HTTPHeaders = [:],
    type: String = "application/problem+json"
  ) async throws -> HTTPProblem {
    var headers = headers
    headers["Content-Type"] = type
    let response = HTTPResponse(
      status: status, headers: headers, body: HTTPBody(Array(document.utf8)))
    return try await HTTPProblem(response, to: Self.request)
  }

  @Test("a document's members are read, whatever else it holds")
  func members() async throws {
    let document = """
      {"success":false,"type":"urn:p:limit","title":"Too many","status":400,"detail":"10 a day",
      "instance":"/i/7","code":"RATE_LIMITED","retryable":true,"retryAfterMs":1500.5,
      "metadata":{"a":[1]},"nothing":null}
      """
    for type in ["application/problem+json", "application/json; charset=utf-8"] {
      let read = try await problem(409, document, type: type)
      var expected = HTTPProblem(status: 409)
      expected.type = "urn:p:limit"
      expected.title = "Too many"
      expected.detail = "10 a day"
      expected.instance = "/i/7"
      expected.code = "RATE_LIMITED"
      expected.retryable = true
      expected.delay = .microseconds(1_500_500)
      #expect(read == expected)
      #expect("\(read)" == "the server answered 409 RATE_LIMITED: Too many: 10 a day")
    }
  }

  @Test("Google's form has its reasons one level down, and the wait among its details")
  func googleForm() async throws {
    let document = """
      {"error":{"code":429,"message":"quota of header-secret","status":"RESOURCE_EXHAUSTED",
      "details":[7,{"@type":"type.googleapis.com/google.rpc.Help","retryDelay":"99s"},
      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"QUOTA of header-secret"},
      {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"23.5s"}]}}
      """
    let read = try await problem(429, document, type: "application/json; charset=UTF-8")
    #expect(read.code == "RESOURCE_EXHAUSTED" && read.detail == "quota of (hidden)")
    #expect(read.reason == "QUOTA of (hidden)")
    #expect(read.advice == .limited(delay: .milliseconds(23_500)))
    let told = try await problem(
      429, document, ["Retry-After": "40"], type: "application/json")
    #expect(told.delay == .seconds(40))
    for broken in ["-3s", "x", "3", "nans"] {
      let text = document.replacing("23.5s", with: broken)
      let delay = try await problem(429, text).delay
      #expect(delay == (broken == "-3s" ? RetryAdvice(delay: .zero).delay : nil), "\(broken)")
    }
  }

  @Test(
    "what is no document leaves the status",
    arguments: [
      "", "{", "[]", "null", "\"a\"", "<p>", #"{"code":1,"retryable":"true","title":{}}"#,
    ])
  func noDocument(text: String) async throws {
    #expect(try await problem(500, text) == HTTPProblem(status: 500))
  }

  @Test("neither another type, nor a body over the limit, nor one that breaks off is read")
  func unread() async throws {
    let document = #"{"code":"A"}"#
    #expect(try await problem(500, document, type: "text/html").code == nil)
    let padded = document + String(repeating: " ", count: 64 << 10)
    #expect(try await problem(500, padded).code == nil)
    let broken = HTTPResponse(
      status: 429, headers: ["Content-Type": "application/problem+json", "Retry-After": "7"],
      body: HTTPBody { throw HTTPError(.connectionLost, origin: nil, "for a test") })
    #expect(try await HTTPProblem(broken, to: Self.request).advice == .limited(delay: .seconds(7)))
    let cancelled = HTTPResponse(
      status: 429, headers: ["Content-Type": "application/problem+json"],
      body: HTTPBody { throw CancellationError() })
    let error = await failure(CancellationError.self) {
      _ = try await HTTPProblem(cancelled, to: Self.request)
    }
    #expect(error != nil)
  }

  @Test(
    "the longer of two delays counts",
    arguments: [
      ("2", "3000", 3000), ("4", "3000", 4000), (nil, "3000", 3000), ("4", "\"3000\"", 4000),
      ("0", "-5", 0), (nil, "1e300", Int(Int32.max) * 1000),
      ("Sun, 06 Nov 1994 08:49:47 GMT", "3000", 10_000),
    ] as [(String?, String, Int)])
  func delays(header: String?, member: String, milliseconds: Int) async throws {
    var headers: HTTPHeaders = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT"]
    headers["Retry-After"] = header
    let problem = try await problem(429, #"{"retryAfterMs":\#(member)}"#, headers)
    #expect(problem.advice == .limited(delay: .milliseconds(milliseconds)))
  }

  @Test(
    "advice: a limit says when to come back, then the service's word counts, then the status",
    arguments: [
      (429, nil, nil, .limited(delay: nil)), (429, false, 3, .limited(delay: .seconds(3))),
      (503, nil, 3, .limited(delay: .seconds(3))), (503, false, 3, .limited(delay: .seconds(3))),
      (503, nil, nil, .failed), (503, false, nil, .permanent), (500, nil, 3, .failed),
      (500, false, nil, .permanent), (502, nil, nil, .failed), (408, nil, nil, .failed),
      (404, nil, nil, .permanent), (413, nil, 3, .permanent), (401, nil, nil, .permanent),
      (409, true, nil, .failed), (422, true, 3, .failed), (302, nil, nil, .failed),
      (206, nil, nil, .failed),
    ] as [(Int, Bool?, Int?, FailureAdvice)])
  func advice(status: Int, retryable: Bool?, delay: Int?, advice: FailureAdvice) {
    var problem = HTTPProblem(status: status)
    problem.retryable = retryable
    problem.delay = delay.map { .seconds($0) }
    #expect(problem.advice == advice)
  }

  @Test("texts are short, without control characters, and repeat no credential of the request")
  func texts() async throws {
    let detail =
      #"Bearer header-secret, cookie-\u0007secret, query%2Dsecret, query-secret, path-secret, abc"#
    let title = #"a\u0000b\r\nc\u2028\u001b[31m é🐦"#
    let echo = try await problem(401, #"{"title":"\#(title)","detail":"\#(detail)"}"#)
    #expect(echo.title == "abc[31m é🐦")
    #expect(echo.detail == "Bearer (hidden), (hidden), (hidden), (hidden), (hidden), abc")
    #expect(!String(reflecting: echo).contains("secret"))
    let long = try await problem(401, #"{"code":"\#(String(repeating: "x", count: 9000))"}"#)
    #expect(long.code == String(repeating: "x", count: 500))
  }
}
