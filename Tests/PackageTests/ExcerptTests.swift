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
}
