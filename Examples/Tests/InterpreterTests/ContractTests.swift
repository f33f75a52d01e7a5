import Foundation
import InterpreterKit
import Tern
import TernNetwork
import Testing

@Suite(
  "The interpreter's contract", .enabled(if: isApertiumInstalled, "Apertium is not installed"),
  .timeLimit(.minutes(1)))
struct ContractTests {
  @Test func `an answer is a candidate whose parts are the text`() async throws {
    try await Interpreter.run { interpreter in
      let answer = try await interpreter.send(interpreter.request())
      #expect(answer.status == 200 && answer.reason == "STOP")
      #expect(answer.texts.count > 1 && answer.texts.joined() == Interpreter.answer)
      #expect(answer.json["modelVersion"] as? String == "apertium/eng-spa")
      #expect(answer.json["usageMetadata"] is [String: Any])
    }
  }

  @Test func `where JSON is asked for, the text is JSON`() async throws {
    try await Interpreter.run { interpreter in
      let answer = try await interpreter.send(interpreter.request(from: "auto", json: true))
      let text = Data(answer.texts.joined().utf8)
      let told = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
      #expect(told["translation"] as? String == Interpreter.answer)
      #expect(told["from"] as? String == "en" && told["confidence"] as? Double == 1)
    }
  }

  @Test func `a stream tells the same in pieces, and the last one says why it ends`()
    async throws
  {
    try await Interpreter.run { interpreter in
      let answer = try await interpreter.send(
        interpreter.request("streamGenerateContent?alt=sse"))
      #expect(answer.headers["Content-Type"] == "text/event-stream")
      let events = try answer.events
      #expect(events.count > 1)
      #expect(events.flatMap(\.texts).joined() == Interpreter.answer)
      #expect(events.map(\.reason) == events.dropLast().map { _ in nil } + ["STOP"])
    }
  }

  @Test func `what can't be answered is refused in the contract's form`() async throws {
    try await Interpreter.run(key: "the right key") { interpreter in
      func refusal(_ request: HTTPRequest) async throws -> [String] {
        let answer = try await interpreter.send(request)
        #expect(answer.error["code"] as? Int == answer.status)
        #expect((answer.error["message"] as? String)?.isEmpty == false)
        return ["\(answer.status)", answer.error["status"] as? String ?? ""]
      }
      let key = "the right key"
      #expect(
        try await refusal(interpreter.request(key: "a wrong key")) == ["403", "PERMISSION_DENIED"])
      #expect(try await refusal(interpreter.request()) == ["403", "PERMISSION_DENIED"])
      let invalid = ["400", "INVALID_ARGUMENT"]
      #expect(try await refusal(interpreter.request(key: key, text: "")) == invalid)
      #expect(try await refusal(interpreter.request(key: key, from: "xx")) == invalid)
      #expect(
        try await refusal(interpreter.request(key: key, text: "שלום", from: "auto")) == invalid)
      #expect(
        try await refusal(interpreter.request("streamGenerateContent", key: key)) == invalid)
      #expect(try await refusal(interpreter.request(model: "x", key: key)) == ["404", "NOT_FOUND"])
      #expect(try await refusal(interpreter.request("count", key: key)) == ["404", "NOT_FOUND"])
      var broken = try interpreter.request(key: key)
      broken.body = .bytes(Array("{".utf8))
      #expect(try await refusal(broken) == invalid)
      #expect(try await interpreter.send(interpreter.request(key: key)).status == 200)
    }
  }

  @Test(arguments: [
    ("limit-seconds=7", true, false), ("limit-date=7", true, false), ("limit-info=7", false, true),
    ("limit-both=7", true, true), ("limit-bare=7", false, false),
  ])
  func `a limit says for how long, in the form that was asked for`(
    _ misbehaviour: String, _ isInHeader: Bool, _ isInBody: Bool
  ) async throws {
    try await Interpreter.run(misbehaviour + ":1") { interpreter in
      let answer = try await interpreter.send(interpreter.request())
      #expect(answer.status == 429)
      #expect(answer.error["status"] as? String == "RESOURCE_EXHAUSTED")
      let advice = RetryAdvice(headers: answer.headers)
      // The server renews its `Date` once a second, and what a date says counts from that.
      let late = misbehaviour.hasPrefix("limit-date") ? 1.0 : 0
      #expect(
        isInHeader
          ? advice.map { [7, 7 + late].contains($0.delay / .seconds(1)) } == true : advice == nil)
      let detail = (answer.error["details"] as? [[String: Any]])?.first
      #expect(detail?["retryDelay"] as? String == (isInBody ? "7s" : nil))
      #expect(try await interpreter.send(interpreter.request()).status == 200)
    }
  }

  @Test(arguments: [
    ("block-answer", "SAFETY"), ("recite", "RECITATION"), ("truncate", "MAX_TOKENS"),
    ("empty", "STOP"),
  ])
  func `an answer that is none says why`(_ misbehaviour: String, _ reason: String) async throws {
    try await Interpreter.run(misbehaviour + ":1") { interpreter in
      let answer = try await interpreter.send(interpreter.request())
      #expect(answer.status == 200 && answer.reason == reason)
      #expect(answer.texts.joined().count < Interpreter.answer.count)
    }
  }

  @Test func `a blocked question, a cut stream, an overload and broken JSON happen on request`()
    async throws
  {
    let misdeeds = "overloaded:1,cut-stream=2:1,delay=1:1"
    try await Interpreter.run(misdeeds) { interpreter in
      let stream = "streamGenerateContent?alt=sse"
      let overloaded = try await interpreter.send(interpreter.request())
      #expect(overloaded.status == 503 && overloaded.error["status"] as? String == "UNAVAILABLE")
      let cut = try await interpreter.send(interpreter.request(stream))
      #expect(cut.wasCut)
      let again = try await interpreter.send(interpreter.request())
      #expect(again.texts.joined() == Interpreter.answer)
    }
    try await Interpreter.run("block-prompt:1") { interpreter in
      let blocked = try await interpreter.send(interpreter.request())
      let feedback = blocked.json["promptFeedback"] as? [String: Any]
      #expect(feedback?["blockReason"] as? String == "SAFETY" && blocked.candidate.isEmpty)
    }
    try await Interpreter.run("broken-json:1") { interpreter in
      let broken = try await interpreter.send(interpreter.request())
      #expect(broken.status == 200 && broken.json.isEmpty && !broken.bytes.isEmpty)
    }
  }
}
