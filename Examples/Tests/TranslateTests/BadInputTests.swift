import ExampleProcesses
import Foundation
import Testing

@Suite(
  "What can't be translated", .serialized,
  .enabled(if: TestService.isInstalled, "Apertium is not installed"), .timeLimit(.minutes(2)))
struct BadInputTests {
  /// What is said, what comes in by a pipe, and words of the refusal.
  private static let refusals: [([String], String, String)] = [
    ([" \n"], "", "nothing to translate"), (["--json"], "\n \n", "nothing to translate"),
    (
      [String(repeating: "a", count: 10_001)], "",
      "has 10001 characters, and 10000 are the most"
    ),
    (["x", "--from", "en", "--to", "zz"], "", "“zz” is no language's code"),
    (["x", "--from", "es", "--to", "es"], "", "“es” is both languages"),
    (["x", "--from", "en", "--to", "auto"], "", "“auto” is no language's code"),
    (["settings", "to", "auto"], "", "“to” can't be auto"),
    (["settings", "service", "not a place"], "", "“service” can't be not a place"),
    (["settings", "service", "ftp://a.example"], "", "“service” can't be ftp:"),
    (["settings", "service", "https://a:b@a.example"], "", "“service” can't be https:"),
    (["settings", "service", "https://a.example/?key=1"], "", "“service” can't be https:"),
    (["run", "--sync", "nonsense", "--token", "x"], "", "--sync is a URL"),
    (["--json", "status"], "", "write `translate status`"),
    (["--json", "ask"], "", "write `translate ask`"),
    (["run", "--sync", "ftp://a.example", "--token", "x"], "", "--sync is a URL"),
    (["settings", "colour", "red"], "", "no setting “colour”"),
  ]

  @Test func `is refused by name, and nothing is asked`() async throws {
    try await TestService.withFolder { service, folder in
      for (words, input, reason) in Self.refusals {
        let outcome = try await folder.run(words, Array(input.utf8))
        #expect(outcome.status == 64 && outcome.complaints.contains(reason), "\(outcome)")
      }
      #expect(try await folder.history().isEmpty)
      #expect(try await service.counts().requests == 0)
    }
  }

  @Test func `in a pipe is left out line by line, and the others are translated`() async throws {
    try await TestService.withFolder { _, folder in
      let long = Array(String(repeating: "a", count: 10_001).utf8)
      let input =
        Array("One dog.\n".utf8) + [0xFF, 0xFE, 10] + long + Array("\na\0b\nTwo dogs.".utf8)
      let outcome = try await folder("--from", "en", input: input)
      #expect(outcome.status == 64)
      #expect(outcome.lines == ["Un perro.", "Dos perros.", ""])
      #expect(outcome.complaints.contains("Line 2 was left out: It is not UTF-8"))
      #expect(outcome.complaints.contains("Line 3 was left out: The text has 10001 characters"))
      #expect(outcome.complaints.contains("Line 4 was left out: The text holds a zero byte"))
    }
  }

  @Test func `but emoji, other scripts and long texts come through`() async throws {
    try await TestService.withFolder { _, folder in
      let long = String(repeating: "The house is big. ", count: 555)
      for text in ["👩‍👩‍👧 🎉", "שלום עולם", "a\u{0}b\u{202E}", long] {
        // No program takes a zero byte as a part of an argument.
        let outcome = try await folder(text.replacing("\0", with: ""), "--from", "en")
        #expect(outcome.status == 0)
      }
      #expect(try await folder.history().count == 4)
      // A command's name, too, where it is said to be a text.
      #expect(try await folder("ask", "status", "--from", "en").status == 0)
      let unknown = try await folder("שלום", "--from", "auto")
      #expect(unknown.status == 1 && unknown.complaints.contains("has these words"))
    }
  }

  @Test func `two programs on one file share the work, and each answer comes once`()
    async throws
  {
    try await TestService.withFolder("delay=20") { service, folder in
      func lines(_ name: String) -> [UInt8] {
        Array((1...10).map { "\(name) \($0) dogs.\n" }.joined().utf8)
      }
      async let first = folder("--from", "en", input: lines("First"))
      async let second = folder("--from", "en", input: lines("Second"))
      let outcomes = try await [first, second]
      for outcome in outcomes {
        #expect(outcome.status == 0 && outcome.lines.count == 11)
        for (number, line) in outcome.lines.dropLast().enumerated() {
          #expect(line.contains("\(number + 1) perros"))
        }
      }
      #expect(try await folder.history().count == 20)
      // A program that has all its answers may leave the other's next question in the middle.
      #expect(try await service.counts().requests <= 21)
    }
  }

  @Test func `a second run waits beside the first, and ends well`() async throws {
    try await TestService.withFolder { _, folder in
      let runs = [try folder.start(["run"]), try folder.start(["run"])]
      for run in runs {
        let line = try await blocking { String(decoding: run.read() ?? [], as: UTF8.self) }
        #expect(line == "nothing waits\n")
      }
      #expect(try await folder("run", "--once").output == "nothing waits\n")
      for run in runs {
        run.kill(SIGTERM)
        run.endInput()
        #expect(try await blocking { run.wait() } == 0)
      }
    }
  }

  @Test func `a file that is no database is named, and left as it is`() async throws {
    try await withTranslateFolder { folder in
      let text = String(repeating: "This is a letter to somebody. ", count: 100)
      try text.write(toFile: folder.database, atomically: true, encoding: .utf8)
      let missing = folder.on("no/such/folder")
      for (device, words) in [(folder, "not a database"), (missing, "unable to open")] {
        let outcome = try await device("history")
        #expect(outcome.status == 66 && outcome.complaints.contains(words), "\(outcome)")
        #expect(outcome.complaints.contains(device.database))
      }
      #expect(try String(contentsOfFile: folder.database, encoding: .utf8) == text)
    }
  }

  #if os(Linux)
  @Test func `an answer that can't be written ends the program with 74`() async throws {
    try await withTranslateFolder { folder in
      let process = try folder.start(["settings"], redirect: "2>&1 >/dev/full")
      process.endInput()
      try await process.read(until: "can't be written")
      #expect(try await blocking { process.wait() } == 74)
    }
  }
  #endif
}
