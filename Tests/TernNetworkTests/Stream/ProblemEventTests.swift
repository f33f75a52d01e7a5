import TernCore
import Testing

@testable import TernNetwork

@Suite("Stream: an event that says why the server failed")
struct ProblemEventTests {
  private static let request = HTTPRequest(
    .get, "http://example.org/", headers: ["Authorization": "Bearer header-secret"])

  @Test(
    "a failure in the middle of a stream is what its status would be",
    arguments: [
      (#"{"error":{"code":429,"message":"m","status":"X"}}"#, 429, .limited(delay: nil)),
      (#"{"error":{"code":"503","message":"m"}}"#, 503, .failed),
      (#"{"error":{"message":"m","status":"resource_exhausted"}}"#, 429, .limited(delay: nil)),
      (#"{"error":{"code":3,"message":"m","status":"INVALID_ARGUMENT"}}"#, 400, .permanent),
      (#"{"error":{"code":1e300,"message":"m"}}"#, 500, .failed),
      (
        """
        {"error":{"code":429,"message":"m","details":[{
        "@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}
        """, 429, .limited(delay: .seconds(7))
      ),
    ] as [(String, Int, FailureAdvice)])
  func inStream(data: String, status: Int, advice: FailureAdvice) throws {
    let problem = try #require(HTTPProblem(ServerEvent(data: data), to: Self.request))
    #expect(problem.status == status && problem.advice == advice && problem.detail == "m")
  }

  @Test(
    "an event without a failure is none",
    arguments: ["", "oops", "{}", "[]", #"{"error":"text"}"#, #"{"candidates":[]}"#])
  func noneInStream(data: String) {
    #expect(HTTPProblem(ServerEvent(data: data), to: Self.request) == nil)
  }

  @Test(
    "an error event says what failed, and is permanent only where it says so",
    arguments: [
      (#"{"code":"AI","message":"No\n books","retryable":true}"#, "AI", "No books", .failed),
      (#"{"code":"AI","message":"header-secret","retryable":false}"#, "AI", "(hidden)", .permanent),
      (#"{"message":"","retryable":"false"}"#, nil, nil, .failed), ("oops", nil, nil, .failed),
    ] as [(String, String?, String?, FailureAdvice)])
  func events(data: String, code: String?, message: String?, advice: FailureAdvice) {
    let problem = EventProblem(ServerEvent(name: "error", data: data), to: Self.request)
    #expect(problem.code == code)
    #expect(problem.message == message)
    #expect(problem.advice == advice)
  }
}
