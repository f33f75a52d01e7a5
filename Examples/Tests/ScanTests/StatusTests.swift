#if os(Linux)
import Foundation
import GRDB
import ExampleProcesses
import Testing

/// What a person at a terminal reads of each photo.
@Suite("The lines of scan status", .timeLimit(.minutes(2)))
struct StatusTests {
  private static let script = "/usr/bin/script"
  private static let hasTerminal = FileManager.default.isExecutableFile(atPath: script)

  /// A photo's job and phase, and its line without the word and the photo's name.
  struct Standing: Sendable {
    var job: String
    var phase: String
    var word: String
    var colour: Int
    var rest = ""
  }

  private static let standings = [
    Standing(job: "state = 0", phase: "waiting", word: "waiting", colour: 90),
    Standing(
      job: "state = 0, reason = 'there is no network'", phase: "uploading", word: "waiting",
      colour: 90, rest: "\tthere is no network"),
    Standing(job: "state = 1", phase: "uploading", word: "uploading", colour: 33),
    Standing(
      job: "state = 1, progress = 0.4, message = 'Reading the spines'", phase: "analysing",
      word: "analysing", colour: 34, rest: "\t████████░░░░░░░░░░░░ Reading the spines"),
    Standing(
      job: "state = 1, progress = 0, message = 'Queued'", phase: "analysing",
      word: "analysing", colour: 34, rest: "\t░░░░░░░░░░░░░░░░░░░░ Queued"),
    Standing(
      job: "state = 1, progress = 1, message = 'Looking up 7 titles'", phase: "analysing",
      word: "analysing", colour: 34, rest: "\t████████████████████ Looking up 7 titles"),
    // Between two attempts the reason is news, and not how far the last one came.
    Standing(
      job: "state = 0, progress = 0.4, message = 'old', reason = 'the server answered 500'",
      phase: "analysing", word: "analysing", colour: 34, rest: "\tthe server answered 500"),
    Standing(job: "state = 2, message = 'old'", phase: "analysing", word: "done", colour: 32),
    Standing(
      job: "state = 3, progress = 0.9, reason = 'the photo can''t be read'", phase: "analysing",
      word: "failed", colour: 31, rest: "\tthe photo can't be read; `scan retry` tries again"),
    Standing(
      job: "state = 4, reason = 'no handler knows it'", phase: "waiting", word: "failed",
      colour: 31, rest: "\tno handler knows it; `scan retry` tries again"),
  ]

  /// Every state at once, in the order of ``standings``.
  private func filled(_ folder: ScanFolder) async throws {
    let shelf = try await folder.photo("shelf.png")
    let photos = try Self.standings.indices.map { index in
      let photo = "\(folder.path)/\(index).png"
      try FileManager.default.copyItem(atPath: shelf, toPath: photo)
      return photo
    }
    let added = try await blocking { try folder.start(["add"] + photos).outcome() }
    try #require(added.status == 0, "\(added.text)")
    for (index, standing) in Self.standings.enumerated() {
      try folder.write(
        """
        UPDATE grdb_tern_job SET \(standing.job) WHERE id = \(index + 1);
        UPDATE scan SET phase = '\(standing.phase)' WHERE id = \(index + 1);
        """)
    }
    try folder.write("INSERT INTO find VALUES (8, '9780001000018')")
  }

  private func counts(_ index: Int) -> String { index == 7 ? "1 books" : "0 books" }

  @Test(.enabled(if: hasTerminal, "script(1) is not installed"))
  func `a terminal shows each state's colour, the bar and the service's own words`() async throws {
    try await withScanFolder { folder in
      try await filled(folder)
      let words = try [BuiltExecutable.path("scan"), "status", "--data", folder.database]
      let command = words.map { "'\($0)'" }.joined(separator: " ")
      let shown = try await blocking {
        try ScanFolder.merged([Self.script, "-qec", command, "/dev/null"]).outcome()
      }
      #expect(shown.status == 0)
      let lines = shown.text.replacing("\r\n", with: "\n").split(separator: "\n").map(String.init)
      #expect(
        lines
          == Self.standings.enumerated().map { index, standing in
            "\u{1B}[\(standing.colour)m\(standing.word)\u{1B}[0m\t\(index).png\t\(counts(index))"
              + standing.rest
          })
    }
  }

  @Test func `a terminal obeys nothing of what a service or another device said`() async throws {
    try await withScanFolder { folder in
      _ = try await folder("add", folder.photo("shelf.png"))
      try folder.write(
        """
        UPDATE grdb_tern_job SET state = 1, message = 'a' || char(27) || '[2Jb' || char(10) || 'c';
        UPDATE device SET quota = char(27) || '7', quotaEnds = 99999999999;
        INSERT INTO book (isbn, title, author, confidence, timesScanned)
        VALUES ('9780306406157', char(155) || 'Sextant', char(10) || 'Ann', 0.9, 1);
        """)
      #expect(
        try await folder("status").lines == [
          "waiting\tshelf.png\t0 books\ta\\u{1B}[2Jb\\nc", "left today: \\u{1B}7 scans",
        ])
      #expect(
        try await folder("library").text
          == "9780306406157\t\\u{009B}Sextant\t\\nAnn\t90%\t×1\n")
    }
  }

  @Test func `what is no terminal gets the words alone`() async throws {
    try await withScanFolder { folder in
      try await filled(folder)
      #expect(
        try await folder("status").lines.map(String.init)
          == Self.standings.enumerated().map { index, standing in
            "\(standing.word)\t\(index).png\t\(counts(index))" + standing.rest
          })
    }
  }
}
#endif
