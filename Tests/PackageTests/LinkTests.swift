import Foundation
import Testing

/// What the pages point at.
struct LinkTests {
  @Test func `every link between pages leads to a file`() throws {
    let link = #/\]\((?<target>[^):# ]+)(#[^) ]*)?\)/#
    var broken: [String] = []
    for page in Repository.pages() {
      let folder = Repository.root.appending(path: page).deletingLastPathComponent()
      for line in try Line.lines(of: page) {
        for match in line.text.matches(of: link) {
          let target = folder.appending(path: String(match.target))
          if !FileManager.default.fileExists(atPath: target.path) { broken.append("\(line)") }
        }
      }
    }
    #expect(broken.isEmpty, "\(broken.joined(separator: "\n"))")
  }

  @Test func `every script that a page names is there and can be run`() throws {
    let script = #/\bscript/[a-z-]+/#
    let named = Set(
      try Repository.pages().flatMap { page in
        try Repository.text(page).matches(of: script).map { String($0.output) }
      })
    for name in named.sorted() {
      let path = Repository.root.appending(path: name).path
      #expect(FileManager.default.isExecutableFile(atPath: path), "\(name)")
    }
  }
}
