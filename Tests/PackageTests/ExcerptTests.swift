import Foundation
import Testing

/// Blocks of the documentation that need more than a dependent of `Tern` alone has.
struct ExcerptTests {
  @Test func `what a page shows as a part of a file is that, word by word`() throws {
    let marks = ["// excerpt: Tests/", "// excerpt: Examples/"]
    var count = 0
    for block in try Repository.pages().flatMap({ try Snippet.blocks("swift", in: $0) }) {
      guard let first = block.lines.first, marks.contains(where: first.hasPrefix) else { continue }
      let path = String(first.dropFirst("// excerpt: ".count))
      let text = block.lines.dropFirst().joined(separator: "\n")
      #expect(
        try Repository.text(path).contains(text), "\(block.page), line \(block.line): \(path)")
      count += 1
    }
    #expect(count > 0)
  }

  /// `script/record` draws it of one run of the demo, which may have changed since.
  @Test func `README's picture shows parts that the demo has`() throws {
    let scripts = ["script/demo"] + Repository.files("script/demo.d", withExtension: "sh")
    let parts = try scripts.flatMap { path in
      try Repository.text(path).split(separator: "\n").compactMap {
        $0.wholeMatch(of: /step "(.+)"/).map { String($0.1) }
      }
    }
    let shown = try Repository.text("Docs/demo.svg").matches(of: />== \d+ of (\d+): ([^<]+)</)
    #expect(shown.count > 3)
    for part in shown {
      #expect(parts.contains(String(part.2)), "draw Docs/demo.svg anew, by script/record")
      #expect(Int(part.1) == parts.count)
    }
  }
}
