import ExampleProcesses
import Foundation
import Testing

@Suite("What comes in a translation's stream", .serialized, .timeLimit(.minutes(2)))
struct StreamTests {
  private static func said(_ text: String, _ end: String? = nil) -> String {
    let reason = end.map { #","finishReason":"\#($0)""# } ?? ""
    let quoted = text.replacing("\"", with: "\\\"")
    return #"{"candidates":[{"content":{"parts":[{"text":"\#(quoted)"}]}\#(reason)}]}"#
  }
  private static let whole = said(#"{"translation":"uno","from":"en"}"#, "STOP")

  private static func error(_ code: String, _ status: String, _ details: String = "[]") -> String {
    #"{"error":{"code":\#(code),"message":"why","status":"\#(status)","details":\#(details)}}"#
  }

  @Test func `a wish for a pause in its middle is heard, and costs nothing`() async throws {
    let info = #"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]"#
    let limited = Self.error("429", "RESOURCE_EXHAUSTED", info)
    try await SentService.withFolder(
      .init(Self.said("{"), limited), .init(limited), .init(limited), .init(limited),
      .init(limited),
      .init(Self.whole)
    ) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "uno\n", "\(outcome)")
      #expect(outcome.complaints.contains("the service wants no requests for 1 s"))
      #expect(count.value == 6)
    }
  }

  @Test(arguments: [
    ("400", "INVALID_ARGUMENT"), (#""400""#, "x"), ("null", "invalid_argument"),
    ("404", "NOT_FOUND"),
  ])
  func `a refusal in its middle is final, and asked once`(_ code: String, _ status: String)
    async throws
  {
    try await SentService.withFolder(.init(Self.error(code, status))) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.complaints.contains("the service can't do this (why)"), "\(outcome)")
      #expect(count.value == 1)
    }
  }

  @Test func `a failure in its middle is one, and asked again`() async throws {
    try await SentService.withFolder(
      .init(Self.error("503", "UNAVAILABLE")), .init(Self.whole)
    ) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "uno\n", "\(outcome)")
      #expect(outcome.complaints.contains("the server answered 503 UNAVAILABLE: why"))
      #expect(count.value == 2)
    }
  }

  @Test func `a connection that is lost behind its end takes no answer away`() async throws {
    try await SentService.withFolder(.init(Self.whole, isCut: true)) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "uno\n", "\(outcome)")
      #expect(count.value == 1)
    }
  }

  @Test(arguments: [(#""0.5""#, "50 % sure"), (#""high""#, ""), ("0.5", "50 % sure")])
  func `confidence may be a text`(_ confidence: String, _ told: String) async throws {
    let answer = #"{"translation":"uno","from":"en","confidence":\#(confidence)}"#
    try await SentService.withFolder(.init(Self.said(answer, "STOP"))) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 0 && outcome.output == "uno\n", "\(outcome)")
      #expect(told.isEmpty || outcome.complaints.contains(told), "\(outcome)")
      #expect(count.value == 1)
    }
  }

  @Test func `what is refused once is not told as four failures`() async throws {
    // A line over what is read of an event: asking again is of no use.
    try await SentService.withFolder(
      .init(Self.said(String(repeating: "a", count: 5 << 20)))
    ) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 1, "\(outcome.complaints.prefix(500))")
      #expect(outcome.complaints.contains("failed each time that it was asked"))
      #expect(count.value == 1)
    }
  }

  @Test func `a pause that is long is said once, and not waited for`() async throws {
    let info = #"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"40000s"}]"#
    try await SentService.withFolder(
      .init(Self.error("429", "RESOURCE_EXHAUSTED", info))
    ) { folder, count in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 75, "\(outcome)")
      #expect(outcome.complaints.contains("1 saved for later"))
      #expect(count.value == 1)
    }
  }

  @Test func `a pause is told once`() async throws {
    let info = #"[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3s"}]"#
    try await SentService.withFolder(
      .init(Self.error("429", "RESOURCE_EXHAUSTED", info)), .init(Self.whole)
    ) { folder, _ in
      let outcome = try await folder("one", "--from", "en")
      #expect(outcome.status == 0, "\(outcome)")
      let lines = outcome.complaints.split(separator: "\n")
      #expect(lines.filter { $0.contains("wants no requests") }.count == 1, "\(outcome)")
    }
  }
}
