#if Server
import Testing

@testable import TernServer

@Suite("HTTP: the date of answers", .timeLimit(.minutes(1)))
struct AnswerDateTests {
  @Test(
    "a date is written as HTTP has it",
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
    ])
  func text(second: Int, text: String) {
    let date = AnswerDate()
    #expect(date.text(at: second) == text)
    #expect(date.text(at: second + 60) != text)
    #expect(date.text(at: second) == text)
  }

  @Test func `an answer has one`() async throws {
    try await LiveServer.run { server async throws in
      let answer = try await server.send(server.request("/health", token: nil))
      let text = try #require(answer.header("Date"))
      #expect(text.wholeMatch(of: /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/) != nil, "\(text)")
    }
  }
}
#endif
