import Foundation
import Testing

/// What apps ship and what the tests run are the same code, but for what happens at the crash points
/// and planted bugs that a test asks for. The trait `Rehearsal` decides nothing else.
struct RehearsalFormTests {
  /// Where code differs by the trait, and how.
  private static let places = [
    "TernCore/Rehearsal/CrashPoint+Process": "what a process does at a point",
    "TernCore/Rehearsal/CrashPoint+Reach":
      "reaching a point calls the test's handler, if there is one",
    "TernCore/Rehearsal/Planted":
      "a bug is there if a test planted it, and never without the trait",
    "TernJobs/Queue/JobQueue+Enqueue": "a point after the caller's commit",
  ]

  private func lines() throws -> [(path: String, lines: [Line])] {
    try Repository.files(
      "Sources", "Examples/Library", "Examples/Scan", "Examples/Service", "Examples/Translate",
      "Examples/Work",
      withExtension: "swift"
    ).map { ($0, try Line.lines(of: $0)) }
  }

  @Test func `the trait is looked at in few places`() throws {
    // Apple's transport is compiled for the tests on Linux, where nothing chooses it.
    let conditional = try lines().filter { file in
      file.lines.contains { line in
        line.text.contains("Rehearsal")
          && line.text.contains(/^\s*#(if|elseif)\b.*\bRehearsal\b/)
          && !line.text.contains("canImport(Darwin) || Rehearsal")
      }
    }.map(\.path)
    #expect(Set(conditional) == Set(Self.places.keys.map { "Sources/\($0).swift" }))
  }

  @Test func `a point or a bug is named, and nothing is computed for it`() throws {
    let mention = /\b(CrashPoint\.(?!armFromEnvironment)|Planted\.)/
    let name = /(CrashPoint\.reach|Planted\.isActive)\(\.[a-zA-Z]+\)/
    var (found, count) = ([String](), 0)
    for file in try lines() where !file.path.contains("/Rehearsal/") {
      for line in file.lines
      where (line.text.contains("Planted.") || line.text.contains("CrashPoint."))
        && !line.text.contains(/^\s*\/\//)
      {
        let mentions = line.text.matches(of: mention).count
        // A list of a program's own points.
        guard mentions > 0, !line.text.contains("CrashPoint.ofScan") else { continue }
        count += 1
        if line.text.matches(of: name).count != mentions { found.append("\(line)") }
      }
    }
    #expect(count > 50)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  /// Swift 6.3 wraps one in two more functions each time that it is read, so that what is read often
  /// takes more and more stack, and ends the process. In a struct it is read as it is.
  @Test func `no mutex holds a bare closure`() throws {
    let bare = /Mutex<[^>]*(->|Handler|Closure)/
    let found = try lines().flatMap(\.lines).filter {
      $0.text.contains("Mutex<") && $0.text.contains(bare)
    }
    #expect(found.isEmpty, "\(found.map(\.description).joined(separator: "\n"))")
  }
}
