import ExampleProcesses
import Foundation
import GRDB
import Testing

@testable import translate

@Suite("Several services", .serialized, .timeLimit(.minutes(2)))
struct LineTests {
  /// Two services, of which a device knows the first.
  private func withTwo(
    _ misbehaviour: String,
    _ body:
      @escaping @Sendable (TestService, ScriptedService.Place, TranslateFolder) async throws
      -> Void
  ) async throws {
    try await TestService.withFolder(misbehaviour) { service, folder in
      try await ScriptedService { text, tell in
        try await tell(#"{"translation":"<\#(text)>","from":"en"}"#)
      }.serving { url in try await body(service, .init(url: url.absoluteString), folder) }
    }
  }

  @Test(.enabled(if: TestService.isInstalled, "Apertium is not installed"))
  func `one wants a pause, is told alone, and the other goes on`() async throws {
    try await withTwo("limit-seconds=10:1") { limited, other, folder in
      let asking = try folder.start(["The house.", "--from", "en"])
      try await asking.read(until: "wants no requests for")
      // Its own process works, and asks the other at once.
      let quick = try await folder("one", "--from", "en", "--service", other.url, "--model", "m")
      #expect(quick.status == 0 && quick.output == "<one>\n", "\(quick)")
      #expect(!quick.complaints.contains("wants no requests"))
      let status = try await folder("status").lines[0]
      #expect(status.contains("1 waiting") && status.contains("wants no requests for"))
      // And what was answered before needs nobody.
      #expect(try await folder("one", "--from", "en", "--model", "m").output == "<one>\n")
      let said = try await asking.read(until: "La casa.")
      // In a pipe nothing is written over, and each second would be another line.
      #expect(!said.contains("wants no requests"), "\(said)")
      asking.endInput()
      #expect(try await blocking { asking.wait() } == 0)
      #expect(try await limited.counts().refusals == ["RESOURCE_EXHAUSTED": 1])
      #expect(try await limited.counts().requests == 2)
    }
  }

  @Test(.enabled(if: TestService.isInstalled, "Apertium is not installed"))
  func `what waits for the one of the settings goes to the next that they name`() async throws {
    try await withTwo("limit-seconds=60") { limited, other, folder in
      _ = try await folder("one", "--from", "en", "--later")
      _ = try await folder("two", "--from", "en", "--later", "--service", limited.url)
      let waiting = try folder.start(["run"])
      try await waiting.read(until: "wants no requests for")
      #expect(try await folder("settings", "service", other.url).status == 0)
      try await waiting.read(until: "1 waiting")
      waiting.kill(SIGTERM)
      waiting.endInput()
      #expect(try await blocking { waiting.wait() } == 0)
      #expect(try await folder.history() == ["en→es\tone\t<one>", "en→es\ttwo\twaiting"])
    }
  }

  @Test func `one that can't be reached does not keep the other from its questions`() async throws {
    let port = try await TestService.closedPort()
    try await ScriptedService { text, tell in
      try await tell(#"{"translation":"<\#(text)>","from":"en"}"#)
    }.serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
        #expect(try await folder("one", "--from", "en").status == 75)
        let outcome = try await folder("two", "--from", "en", "--service", url.absoluteString)
        #expect(outcome.status == 0 && outcome.output == "<two>\n")
        #expect(try await folder.history() == ["en→es\tone\twaiting", "en→es\ttwo\t<two>"])
        let wrong = try await folder("x", "--from", "en", "--service", "nowhere")
        #expect(wrong.status == 64 && wrong.complaints.contains("“service” can't be nowhere"))
      }
    }
  }
}
