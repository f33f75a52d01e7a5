import ExampleProcesses
import Foundation
import GRDB
import Tern
import Testing

@testable import translate

@Suite("What comes of a question", .serialized, .timeLimit(.minutes(2)))
struct AnswerTests {
  @Test func `a service that names as a language what a terminal obeys is not believed`()
    async throws
  {
    try await ScriptedService.withFolder { text, tell in
      try await tell(#"{"translation":"<\#(text)>","from":"\u001b]0;x\u0007\nfr→es"}"#)
    } body: { folder in
      #expect(try await folder("one").status == 0)
      #expect(try await folder.history() == ["auto→es\tone\t<one>"])
      let sources = try folder.read {
        try Optional<String>.fetchAll($0, sql: "SELECT source FROM answer")
      }
      #expect(sources == [nil])
      _ = try await folder("settings", "model", "\u{1B}[2J")
      #expect(try await folder("settings", "model").output == "model\t\\u{1B}[2J\n")
    }
  }

  @Test func `an answer that does not end is none, and the next question has its turn`()
    async throws
  {
    let piece = String(repeating: "x", count: 50_000)
    try await ScriptedService.withFolder { text, tell in
      try await tell(#"{"translation":""#)
      for _ in 0..<(text == "long" ? 25 : 1) { try await tell(piece) }
      try await tell(#""}"#)
    } body: { folder in
      for text in ["long", "two"] { _ = try await folder(text, "--to", "es", "--later") }
      #expect(try await folder("run", "--once").status == 0)
      let problems = try folder.read {
        try Optional<String>.fetchAll(
          $0, sql: "SELECT problem FROM answer ORDER BY problem IS NULL")
      }
      #expect(problems == ["truncated", nil])
    }
  }

  @Test func `a model whose name is one letter of a mebibyte stops no line`() async throws {
    let engine = "m" + String(repeating: "\u{301}", count: 480_000)
    try await ScriptedService.withFolder(engine: engine) { text, tell in
      try await tell(#"{"translation":"\#(String(repeating: text, count: 10_000))"}"#)
    } body: { folder in
      for text in ["one", "two"] { _ = try await folder(text, "--to", "es", "--later") }
      #expect(try await folder("run", "--once").status == 0)
      let lengths = try folder.read {
        try Int.fetchAll($0, sql: "SELECT length(engine) FROM answer")
      }
      #expect(lengths == [100, 100])
    }
  }

  @Test func `a pipe and a run tell by their status what came of the questions`() async throws {
    let port = try await TestService.closedPort()
    try await ScriptedService.withFolder { text, tell in
      try await tell(text == "bad" ? #"{"translation":""}"# : #"{"translation":"<\#(text)>"}"#)
    } body: { folder in
      func ask(_ text: String) async throws -> CInt {
        try await folder.run(["--from", "en"], Array(text.utf8)).status
      }
      #expect(try await ask("one\n\ntwo\n") == 0)
      #expect(try await ask("bad\nthree\n") == 1)
      #expect(try await ask("a\0b\nfour\n") == 64)
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      #expect(try await ask("five\n") == 75)
      let run = try await folder("run", "--once")
      #expect(run.status == 75 && run.output.hasPrefix("1 waiting"), "\(run)")
      #expect(try await folder("undo").status == 0)
      #expect(try await folder("run", "--once").status == 0)
      let sync = try await folder(
        "run", "--once", "--sync", "http://127.0.0.1:\(port)", "--token", "x")
      #expect(sync.status == 75 && !sync.complaints.isEmpty, "\(sync)")
    }
  }

  @Test func `a service and its model are chosen at once, and what waits goes there`() async throws
  {
    let port = try await TestService.closedPort()
    try await ScriptedService { text, tell in
      try await tell(#"{"translation":"<\#(text)>"}"#)
    }.serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
        #expect(try await folder("one", "--from", "en").status == 75)
        let waiting = try folder.start(["run"])
        try await waiting.read(until: "can't be reached")
        let chosen = try await folder(
          "settings", "service", url.absoluteString, "--model", "m")
        #expect(chosen.status == 0)
        try await waiting.read(until: "nothing waits")
        waiting.kill(SIGTERM)
        waiting.endInput()
        #expect(try await blocking { waiting.wait() } == 0)
        #expect(try await folder.history() == ["en→es\tone\t<one>"])
        let settings = try await folder("settings").output
        #expect(settings.contains("service\t\(url)\n") && settings.contains("model\tm\n"))
        // Neither is among what syncs.
        #expect(try folder.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM setting") } == 0)
        #expect(
          try folder.read { try String.fetchAll($0, sql: "SELECT model FROM cache") } == ["m"])
        for words in [
          ["to", "fr", "--model", "m"], ["service", url.absoluteString, "--model", ""],
        ] {
          #expect(try await folder.run(["settings"] + words).status == 64)
        }
      }
    }
  }

  @Test func `what failed here is asked again, and another device's question is not`() async throws
  {
    let gate = Refusals()
    try await ScriptedService { text, tell in
      let said = await gate.next() ? "" : "<\(text)>"
      try await tell(#"{"translation":"\#(said)"}"#)
    }.serving { url in
      try await withTranslateFolder { folder in
        _ = try await folder("settings", "service", url.absoluteString)
        #expect(try await folder("one", "--from", "en").status == 1)
        let database = try await TranslateDatabase.open(folder.database)
        // As if it had synced.
        try await database.replica.write { db in
          try db.execute(sql: "INSERT INTO phrase VALUES ('other', 'c', 'en', 'es', 'two', 1)")
          try db.execute(sql: "INSERT INTO answer (phrase, problem) VALUES ('other', 'blocked')")
        }
        try database.pool.close()
        let run = try await folder("run", "--once", "--retry")
        #expect(run.status == 0 && run.output == "nothing waits\n", "\(run)")
        let history = try await folder.history()
        #expect(history.last == "en→es\tone\t<one>")
        #expect(history.first?.contains("say it in other words") == true)
      }
    }
  }
}

/// Says no once.
private actor Refusals {
  private var count = 0

  func next() -> Bool {
    count += 1
    return count == 1
  }
}
