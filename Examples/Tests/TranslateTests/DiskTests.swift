#if os(Linux)
import Foundation
import ExampleProcesses
import Testing

private let canMount: Bool = {
  let words = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
  guard let process = try? ChildProcess("/usr/bin/env", arguments: words) else { return false }
  process.endInput()
  while process.read() != nil {}
  return process.wait() == 0
}()

/// Each on a small disk that only the script of the test and its programs see.
@Suite(
  "A full disk", .serialized,
  .enabled(if: canMount, "the system lets nobody mount a file system of its own"),
  .timeLimit(.minutes(3)))
struct DiskTests {
  /// `t` runs the program and tells its status, `fill` leaves no byte.
  private static let beginning = """
    mount -t tmpfs -o size=2m tmpfs "$1" || exit 99
    cd "$1"
    program=$0
    t() { "$program" "$@"; echo "= $?"; }
    fill() { cat /dev/zero > fill 2>/dev/null; }

    """

  private func start(_ script: String, in folder: TranslateFolder) throws -> ChildProcess {
    try ChildProcess(
      "/usr/bin/perl",
      arguments: [
        // It would keep open what a service in this process listens on.
        "-MPOSIX", "-e", "POSIX::close($_) for 3..1023; alarm 180; exec @ARGV",
        "unshare", "-rm", "sh", "-c", #"exec 2>&1; eval "$SCRIPT""#,
        BuiltExecutable.path("translate"), folder.path,
      ],
      environment: [
        "LC_ALL": "C.UTF-8", "GEMINI_API_KEY": "", "SCRIPT": Self.beginning + script,
      ])
  }

  /// - Returns: what it says, by line.
  private func run(_ script: String, in folder: TranslateFolder) async throws -> [Substring] {
    let process = try start(script, in: folder)
    process.endInput()
    return try await rest(of: process)
  }

  private func rest(of process: ChildProcess) async throws -> [Substring] {
    try await blocking {
      var output: [UInt8] = []
      while let bytes = process.read() { output += bytes }
      _ = process.wait()
      return String(decoding: output, as: UTF8.self).split(separator: "\n")
    }
  }

  private func statuses(_ lines: [Substring]) -> [Substring] { lines.filter { $0.hasPrefix("= ") } }

  /// How often the person is told.
  private func told(_ lines: [Substring]) -> Int {
    lines.filter { $0.contains("no room on the disk") }.count
  }

  @Test func `is named, and what was saved stays`() async throws {
    try await withTranslateFolder { folder in
      let lines = try await run(
        """
        t "The first." --from en --later
        for room in 1200000 4000000; do
          head -c $room /dev/zero > fill 2>/dev/null
          yes 'A long line that takes some room in the file.' | head -20000 | t --from en --later
        done
        rm fill
        t history
        """, in: folder)
      #expect(statuses(lines) == ["= 75", "= 74", "= 74", "= 0"], "\(lines)")
      #expect(told(lines) == 2 && lines.contains("en→es\tThe first.\twaiting"))
    }
  }

  @Test func `keeps every command from its work by name, and none from what was there`()
    async throws
  {
    try await ScriptedService { text, tell in
      try await tell(#"{"translation":"<\#(text)>"}"#)
    }.serving { url in
      try await withTranslateFolder { folder in
        let lines = try await run(
          """
          t settings service \(url.absoluteString)
          t one --from en
          t two --from en --later
          fill
          echo full
          t three --from en
          t run --once
          t run
          t settings to fr
          t undo
          echo three | t --from en
          rm fill
          echo room
          t history
          t settings to
          t run --once
          t three --from en
          t settings to fr
          t undo
          t history
          """, in: folder)
        let parts = lines.split { ["full", "room"].contains($0) }.map(Array.init)
        #expect(statuses(parts[0]) == ["= 0", "= 0", "= 75"], "\(lines)")
        let refusals = parts[1]
        #expect(statuses(refusals) == Array(repeating: "= 74", count: 6), "\(refusals)")
        #expect(told(refusals) == 6 && refusals.count == 12, "\(refusals)")
        let after = parts[2].filter { !$0.hasPrefix("(made by") }
        #expect(
          after == [
            "en→es\tone\t<one>", "en→es\ttwo\twaiting", "= 0", "to\tes", "= 0", "nothing waits",
            "= 0", "<three>", "= 0", "= 0", "Taken back: setting: removed 1", "= 0",
            "en→es\tone\t<one>", "en→es\ttwo\t<two>",
            "en→es\tthree\t<three>", "= 0",
          ])
      }
    }
  }

  @Test(arguments: [["one", "--from", "en"], ["run", "--once"], ["run"]])
  func `that has no room for an answer leaves the question to be answered later`(
    _ words: [String]
  ) async throws {
    let (asked, filled) = (Gate(), Gate())
    try await ScriptedService { text, tell in
      await asked.open()
      await filled.pass()
      try await tell(#"{"translation":"<\#(text)>"}"#)
    }.serving { url in
      try await withTranslateFolder { folder in
        let process = try start(
          """
          t settings service \(url.absoluteString)
          \(words[0] == "run" ? "t one --from en --later" : "")
          t \(words.joined(separator: " ")) &
          read asked
          fill
          echo full
          wait
          rm fill
          t history
          t run --once
          t history
          """, in: folder)
        await asked.pass()
        try process.write("asked\n")
        try await process.read(until: "full\n")
        await filled.open()
        process.endInput()
        let lines = try await rest(of: process)
        #expect(
          lines.filter { !$0.hasPrefix("1 waiting") } == [
            lines.first { $0.contains("no room on the disk") } ?? "", "= 74",
            "en→es\tone\twaiting", "= 0", "nothing waits", "= 0", "en→es\tone\t<one>", "= 0",
          ], "\(lines)")
      }
    }
  }
}
#endif
