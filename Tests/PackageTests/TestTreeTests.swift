import Testing

/// The tests have the folders of the sources, so that a person finds the test of a line and the
/// line of a test.
struct TestTreeTests {
  /// The targets whose tests are sorted by folder, and which sources each covers.
  private static let covered = [
    "EngineTests": "Tern", "TernCoreTests": "TernCore", "TernDatabaseTests": "TernDatabase",
    "TernJobsTests": "TernJobs", "TernNetworkTests": "TernNetwork",
    "TernServerTests": "TernServer", "TernTests": "Tern",
  ]

  @Test func `each test is in the folder that it covers, and its suite's name begins with that`()
    throws
  {
    let tree = TestTree(sources: Repository.files("Sources", withExtension: "swift"))
    var (problems, count) = ([String](), 0)
    for (tests, source) in Self.covered.sorted(by: { $0.key < $1.key }) {
      for path in Repository.files("Tests/\(tests)", withExtension: "swift")
      where !path.contains("/Fixtures/") {
        problems += tree.problems(with: try Repository.text(path), at: path, covering: source)
        count += 1
      }
    }
    #expect(count > 200)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  private static let named = "@Suite(\"Merge: rows\", .serialized)\nstruct RowTests {\n  @Test"
  private static let unnamed = "@Suite struct RowTests {\n  @Test"

  /// A made-up file, and what is said of it; `nil` where all is well.
  private static let files: [(String, String, String?)] = [
    ("Merge/RowTests.swift", named, nil), ("Rows.swift", "struct Rows {\n", "Sources/Tern "),
    ("Merge/RowTests.swift", unnamed, #"@Suite("Merge: …")"#),
    ("Merge/RowTests.swift", "struct Row {\n}\n\n" + unnamed, #"@Suite("Merge: …")"#),
    ("Merge/RowTests.swift", named + "\n}\n" + unnamed, #"@Suite("Merge: …")"#),
    ("Store/RowTests.swift", named, #"@Suite("Store: …")"#),
    ("Store/SQLite/RowTests.swift", named, #"@Suite("SQLite: …")"#),
    ("TernTool/RowTests.swift", named, #"@Suite("TernTool: …")"#),
    ("Guest/RowTests.swift", named, "Sources/Tern/Guest"),
    ("SQLite/RowTests.swift", named, "Sources/Tern/SQLite"),
    ("Guest/Rows.swift", "struct Rows {\n", "Sources/Tern/Guest"),
    ("Support/Rows.swift", "struct Rows {\n", nil), ("Support/Rows.swift", named, "Support"),
    ("Frozen/RowTests.swift", named, #"@Suite("Frozen: …")"#),
    ("Merge/RowTests.swift", "@Test func `a row`() {\n", nil),
  ]

  @Test(arguments: files)
  func `a test in another folder or without its name is found`(
    _ name: String, _ text: String, _ message: String?
  ) {
    let tree = TestTree(sources: [
      "Sources/Tern/Exports.swift", "Sources/Tern/Merge/Row.swift",
      "Sources/Tern/Store/Store.swift", "Sources/Tern/Store/SQLite/File.swift",
      "Sources/TernTool/Command.swift",
    ])
    let problems = tree.problems(with: text + "\n}\n", at: "Tests/Some/\(name)", covering: "Tern")
    #expect(problems.count == (message == nil ? 0 : 1), "\(problems)")
    if let message { #expect(problems.first?.contains(message) == true, "\(problems)") }
  }
}

/// Which folders hold sources, and so may hold tests.
private struct TestTree {
  /// Such as `Tern/Merge`.
  private let folders: Set<String>
  private let targets: Set<String>

  init(sources: [String]) {
    // What passes other modules on has no test of its own.
    folders = Set(
      sources.filter { !$0.hasSuffix("/Exports.swift") }.map { path in
        path.split(separator: "/").dropFirst().dropLast().joined(separator: "/")
      })
    targets = Set(sources.map { String($0.split(separator: "/")[1]) })
  }

  func problems(with text: String, at path: String, covering source: String) -> [String] {
    let names = path.split(separator: "/").dropFirst(2).dropLast().map(String.init)
    let hasTests = text.contains("@Test")
    if names == ["Support"] {
      return hasTests
        ? ["\(path) has tests. Move them from Support to the folder that they cover."] : []
    }
    // A folder of another target than the one that is covered begins with that target's name.
    let isOther = names.first.map(targets.contains) ?? false
    let parts = isOther || names == ["Frozen"] ? names : [source] + names
    let folder = parts.joined(separator: "/")
    guard folders.contains(folder) || folder == "Frozen" else {
      return [
        "\(path): Sources/\(folder) holds no sources. Move the file to a folder named like the one "
          + "that it covers, or to Support if it has no tests."
      ]
    }
    let prefix = "\(parts[parts.count - 1]): "
    return Self.suites(in: text).filter { !$0.name.hasPrefix(prefix) }.map { suite in
      "\(path): let the name of \(suite.type) begin with its folder, @Suite(\"\(prefix)…\")."
    }
  }

  /// The types at a file's top that have tests, with the names that they show.
  private static func suites(in text: String) -> [(type: Substring, name: Substring)] {
    let declaration = #/^(?:@Suite.* )?(?:final )?(?:struct|class|enum|actor) (\w+)/#
    let attribute = #/(?:^|\n)@Suite\(\s*"([^"]*)"/#
    // A type ends with a brace at a line's beginning.
    return text.split(separator: "\n}").compactMap { part in
      let types = part.split(separator: "\n").compactMap { $0.firstMatch(of: declaration)?.1 }
      guard part.contains(#/\n +@Test/#), let type = types.last else { return nil }
      return (type, part.firstMatch(of: attribute)?.1 ?? "")
    }
  }
}
