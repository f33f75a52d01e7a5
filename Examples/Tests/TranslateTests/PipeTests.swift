import ExampleProcesses
import Foundation
import GRDB
import Testing

@testable import translate

@Suite("A pipe, and what comes in parts", .serialized, .timeLimit(.minutes(2)))
struct PipeTests {
  /// A document of an answer.
  private static func document(_ translation: String) -> String {
    #"{"translation":"\#(translation)","from":"en","confidence":0.5,"alternatives":["uno","otro"]}"#
  }

  @Test func `each answer is printed in its turn while input still comes`() async throws {
    try await ScriptedService.withFolder { text, tell in
      try await tell(Self.document("<\(text)>"))
    } body: { folder in
      let process = try folder.start(["--from", "en"], redirect: "2>/dev/null")
      for text in ["one", "two", "three"] {
        try process.write("\(text)\n")
        // Only then the next line is written.
        try await process.read(until: "<\(text)>\n")
      }
      process.endInput()
      #expect(try await blocking { process.wait() } == 0)
      #expect(try await folder.history().count == 3)
    }
  }

  @Test func `lines that come with no network are saved at once, and answered when it is back`()
    async throws
  {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let process = try folder.start(["--from", "en"])
      try process.write("one\n")
      try await process.read(until: "the service can't be reached")
      try process.write("two\n")
      process.endInput()
      try await process.read(until: "2 saved for later")
      #expect(try await blocking { process.wait() } == 75)
    }
  }

  @Test(.enabled(if: TestService.isInstalled, "Apertium is not installed"))
  func `lines that come with no network are answered one by one by what is installed`()
    async throws
  {
    let port = try await TestService.closedPort()
    try await withTranslateFolder { folder in
      _ = try await folder("settings", "service", "http://127.0.0.1:\(port)")
      let process = try folder.start(["--from", "en", "--offline"], redirect: "2>/dev/null")
      for (text, answer) in [("The house.", "La casa."), ("A dog.", "Un perro.")] {
        try process.write("\(text)\n")
        try await process.read(until: "\(answer)\n")
      }
      process.endInput()
      #expect(try await blocking { process.wait() } == 0)
      #expect(try await folder("run", "--once").output == "nothing waits\n")
      var spanish = folder
      spanish.environment["LC_ALL"] = "es_ES.UTF-8"
      let german = try await spanish("A dog.", "--from", "en", "--to", "de", "--offline")
      #expect(german.status == 75 && german.complaints.contains("Apertium no traduce aquí en→de"))
    }
  }

  @Test func `alternatives and confidence are kept and shown`() async throws {
    try await ScriptedService.withFolder { _, tell in
      for piece in ["{\"translation\":\"la", " casa\",\"from\":\"en\",", "\"confidence\":0.5,"] {
        try await tell(piece)
      }
      try await tell("\"alternatives\":[\"uno\",\"otro\"]}")
    } body: { folder in
      let outcome = try await folder("house", "--from", "en")
      #expect(outcome.output == "la casa\n")
      #expect(outcome.complaints.contains("50 % sure, also: uno / otro"))
      let kept = try await folder("history", "--json").output
      let entry = try JSONDecoder().decode(Entry.self, from: Data(kept.utf8))
      #expect(entry.alternatives == ["uno", "otro"] && entry.confidence == 0.5)
    }
  }

  #if os(Linux)
  @Test func `what there is of an answer is shown on a terminal, and nowhere else`() async throws {
    let gate = Gate()
    try await ScriptedService.withFolder { text, tell in
      try await tell("{\"alternatives\":[\"translation\"],\"translation\":\"La casa \\u00")
      try await tell("e9s ")
      if text == "slow" { await gate.pass() }
      try await tell("grande.\",\"from\":\"en\"}")
    } body: { folder in
      let terminal = try folder.startOnTerminal(["slow", "--from", "en"])
      try await terminal.read(until: "La casa és")
      await gate.open()
      try await terminal.read(until: "\r\u{1B}[KLa casa és grande.")
      terminal.endInput()
      #expect(try await blocking { terminal.wait() } == 0)
      for words in [["fast"], ["fast", "--json"]] {
        let outcome = try await folder.run(words + ["--from", "en"])
        #expect(outcome.status == 0 && outcome.lines.count == 2, "\(outcome)")
        #expect(!outcome.complaints.contains("\u{1B}"))
      }
    }
  }
  #endif

  @Test(arguments: [
    (#"{"translation":"La c"#, "La c"),
    (#"{"translation":"a\"b\\\nc\u00e9\ud83d\ude00","x""#, "a\"b\\\ncé😀"),
    (#"{"alternatives":["translation","x"],"translation":"y"#, "y"), (#"{"translation":"#, nil),
    (#"{"from":"translation","tr"#, nil), (#"{"a":{"translation":"no"},"translation":"y"}"#, "y"),
    (#"{"translation":"half \ud83d"#, "half "), (#"{"translation":"half \u00"#, "half "), ("", nil),
  ])
  func `of a document that still comes, the translation is read as far as it stands`(
    _ document: String, _ text: String?
  ) {
    #expect(PartialAnswer.translation(in: document) == text)
  }

  @Test func `a line of a terminal holds the end of a text`() {
    #expect("abc".tail(columns: 5) == "abc" && "abcdef".tail(columns: 3) == "def")
    #expect("猫猫猫".tail(columns: 5) == "猫猫")
  }
}

extension ChildProcess {
  func write(_ text: String) throws {
    try FileHandle(fileDescriptor: input, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
  }
}
