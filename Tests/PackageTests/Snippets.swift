/// A block of Swift from a page of the documentation.
struct Snippet {
  let page: String
  let line: Int
  let lines: [String]

  /// In the order of the pages; without what is marked as an excerpt.
  static func all() throws -> [Snippet] {
    try Repository.pages().flatMap { try blocks("swift", in: $0) }
      .filter { $0.lines.first?.hasPrefix("// excerpt") == false }
  }

  /// The fenced blocks of one language.
  static func blocks(_ language: String, in page: String) throws -> [Snippet] {
    var found: [Snippet] = []
    var open: (isWanted: Bool, line: Int, lines: [String])?
    for line in try Line.lines(of: page) {
      if let block = open {
        if line.text == "```" {
          if block.isWanted {
            found.append(Snippet(page: page, line: block.line, lines: block.lines))
          }
          open = nil
        } else {
          open?.lines.append(line.text)
        }
      } else if line.text.hasPrefix("```") {
        open = (line.text == "```\(language)", line.number, [])
      }
    }
    return found
  }

  var text: String { lines.joined(separator: "\n") }

  /// The snippet as a file of its own: declarations stand as they are, statements in a function
  /// whose parameters are what the pages speak of.
  func source(number: Int) -> String {
    let imports = lines.filter { $0.hasPrefix("import ") }
    let rest = lines.filter { !$0.hasPrefix("import ") }
    let first = rest.first { !$0.isEmpty && !$0.hasPrefix("//") } ?? ""
    let declarations = ["extension ", "struct ", "final class ", "actor ", "enum ", "func "]
    let body =
      declarations.contains { first.hasPrefix($0) }
      ? rest
      : ["func snippet\(number)(\(Self.surroundings)) async throws {"] + rest.map { "  " + $0 } + [
        "}"
      ]
    let place = "// \(page), line \(line)"
    let known = ["Foundation", "GRDB", "Tern", "TernJobs", "TernNetwork"].map { "import \($0)" }
      .filter { !imports.contains($0) }
    return ([place] + known + imports + body).joined(separator: "\n") + "\n"
  }

  private static let surroundings = [
    "database: DatabasePool", "migrator: DatabaseMigrator", "replica: Replica",
    "engine: SyncEngine", "url: URL", "token: String", "isbn: String", "jobs: JobQueue",
    "context: JobContext", "photo: URL",
  ].joined(separator: ", ")
}
