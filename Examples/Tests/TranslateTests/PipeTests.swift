import ExampleProcesses
import Foundation
import GRDB
import InterpreterClient
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
      // Each look is a program of its own.
      var looks = 0
      while try await folder.history().isEmpty, looks < 500 { looks += 1 }
      try process.write("two\n")
      process.endInput()
      let said = try await process.read(until: "2 saved for later")
      #expect(said.contains("the service can't be reached"))
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
      #expect(german.status == 75 && german.complaints.contains("en-de"))
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
    #expect(GeminiService.part(of: document) == text)
  }
}

extension ChildProcess {
  func write(_ text: String) throws {
    try FileHandle(fileDescriptor: input, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
  }
}
