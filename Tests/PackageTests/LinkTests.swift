import Foundation
import Testing

/// What the pages point at.
struct LinkTests {
  @Test func `every link between pages leads to a file`() throws {
    let link = #/\]\((?<target>[^):# ]+)(#[^) ]*)?\)/#
    var (broken, links) = ([String](), 0)
    for page in Repository.pages() {
      let folder = Repository.root.appending(path: page).deletingLastPathComponent()
      for line in try Line.lines(of: page) {
        for match in line.text.matches(of: link) {
          let target = folder.appending(path: String(match.target))
          if !FileManager.default.fileExists(atPath: target.path) { broken.append("\(line)") }
          links += 1
        }
      }
    }
    #expect(links > 10)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  /// A function by its own name is one of the same target; by a path, any of the package.
  @Test func `every symbol that a comment links to is declared`() throws {
    let paths = Repository.files(
      "Sources", "Tests", "Benchmarks", "Examples", withExtension: "swift")
    var targets: [Substring: Declarations] = [:]
    var links: [(line: Line, parts: [Substring], target: Substring)] = []
    for path in paths {
      let (lines, target) = (try Line.lines(of: path), path.split(separator: "/")[1])
      targets[target, default: Declarations()].add(lines)
      for line in lines where line.text.contains("//") {
        for match in line.text.matches(of: #/``([^`]+)``/#) {
          links.append((line, match.1.split(separator: "/"), target))
        }
      }
    }
    let names = Set(targets.values.flatMap(\.names))
    let signatures = Set(targets.values.flatMap(\.signatures))
    let broken = links.filter { link in
      !link.parts.allSatisfy { part in
        guard part.contains("(") else { return names.contains(part) }
        return (link.parts.count > 1 ? signatures : targets[link.target]!.signatures).contains(part)
      }
    }
    #expect(links.count > 100)
    #expect(broken.isEmpty, "\(broken.map { "\($0.line)" }.joined(separator: "\n"))")
  }

  @Test func `every link to a heading leads to one`() throws {
    let link = #/\]\((?<target>[^):# ]*)#(?<anchor>[^) ]+)\)/#
    var (broken, links) = ([String](), 0)
    for page in Repository.pages() {
      let file = Repository.root.appending(path: page)
      for line in try Line.lines(of: page) {
        for match in line.text.matches(of: link) {
          let target =
            match.target.isEmpty
            ? file : file.deletingLastPathComponent().appending(path: String(match.target))
          guard target.pathExtension == "md" else { continue }
          let anchors = Self.anchors(in: try String(contentsOf: target, encoding: .utf8))
          if !anchors.contains(String(match.anchor)) { broken.append("\(line)") }
          links += 1
        }
      }
    }
    #expect(links > 10)
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func `headings have the anchors that GitHub gives them`() {
    let page = """
      # What is refused, and the way out
      ## `open` throws
      ```sh
      # no heading
      ```
      ## A folder’s files
      ## `open` throws
      """
    #expect(
      Self.anchors(in: page) == [
        "what-is-refused-and-the-way-out", "open-throws", "a-folders-files", "open-throws-1",
      ])
  }

  private static func anchors(in page: String) -> Set<String> {
    var anchors: Set<String> = []
    var isCode = false
    for line in page.split(separator: "\n") {
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode, let heading = line.wholeMatch(of: /#+ (.+)/) else { continue }
      let kept = heading.1.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
      let anchor = kept.replacing(" ", with: "-")
      // The second of one name is numbered.
      let number = (0...).first { !anchors.contains($0 == 0 ? anchor : "\(anchor)-\($0)") }!
      anchors.insert(number == 0 ? anchor : "\(anchor)-\(number)")
    }
    return anchors
  }

  @Test func `every script that a page names is there and can be run`() throws {
    let script = #/\bscript/[a-z-]+/#
    let named = Set(
      try Repository.pages().flatMap { page in
        try Repository.text(page).matches(of: script).map { String($0.output) }
      })
    #expect(named.count > 3)
    for name in named.sorted() {
      let path = Repository.root.appending(path: name).path
      #expect(FileManager.default.isExecutableFile(atPath: path), "\(name)")
    }
  }
}
