import ExampleProcesses
import Foundation
import GRDB
import Testing

@Suite("Two commands on one file", .serialized, .timeLimit(.minutes(2)))
struct TakeoverTests {
  @Test func `one that waits takes over when the one that works is killed`() async throws {
    let (asked, gate) = (Gate(), Gate())
    try await ScriptedService.withFolder { text, tell in
      if text == "slow" {
        await asked.open()
        await gate.pass()
      }
      try await tell(#"{"translation":"<\#(text)>"}"#)
    } body: { folder in
      let working = try folder.start(["slow", "--from", "en"])
      await asked.pass()
      let waiting = try folder.start(["quick", "--from", "en"])
      // Each look is a program of its own.
      var looks = 0
      while try await folder.history().count < 2, looks < 500 { looks += 1 }
      working.kill(SIGKILL)
      working.endInput()
      await gate.open()
      try await waiting.read(until: "<quick>")
      waiting.endInput()
      #expect(try await blocking { waiting.wait() } == 0)
      #expect(try await folder.history() == ["en→es\tslow\t<slow>", "en→es\tquick\t<quick>"])
    }
  }

  @Test func `a file's lines are all saved before the first answer`() async throws {
    let gate = Gate()
    try await ScriptedService.withFolder { text, tell in
      await gate.pass()
      try await tell(#"{"translation":"<\#(text)>"}"#)
    } body: { folder in
      let files = folder.path + "/lines"
      try (1...50).map { "line \($0)\n" }.joined().write(
        toFile: files, atomically: true, encoding: .utf8)
      let process = try folder.start(["--from", "en"], redirect: #"<"$FILES" 2>&1"#, files)
      var looks = 0
      while try await folder.history().count < 50, looks < 500 { looks += 1 }
      #expect(try await folder.history().count == 50)
      await gate.open()
      let said = try await process.read(until: "<line 50>\n")
      #expect(said == (1...50).map { "<line \($0)>\n" }.joined())
      process.endInput()
      #expect(try await blocking { process.wait() } == 0)
    }
  }

  @Test func `a conversation is named for a text alone`() async throws {
    try await withTranslateFolder { folder in
      let refused = try await folder(
        "--from", "en", "--conversation", "c", input: Array("x\n".utf8))
      #expect(refused.status == 64 && refused.complaints.contains("goes with a text"))
      for text in ["one", "two"] {
        _ = try await folder(text, "--from", "en", "--conversation", "c", "--later")
      }
      #expect(
        try folder.read {
          try Int.fetchOne($0, sql: "SELECT count(DISTINCT conversation) FROM phrase")
        } == 1)
    }
  }
}
