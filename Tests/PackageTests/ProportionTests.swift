import Testing

/// The proportions that `CONTRIBUTING.md` asks for.
struct ProportionTests {
  @Test func `no Swift file has more than 500 lines`() throws {
    let paths = Repository.files(
      "Sources", "Tests", "Benchmarks", "Examples", withExtension: "swift")
    var lengths: [(path: String, lines: Int)] = []
    for path in paths { lengths.append((path, try Line.lines(of: path).count - 1)) }
    lengths.sort { $0.lines < $1.lines }
    let tooLong = lengths.filter { $0.lines > 500 }.map { "\($0.path) has \($0.lines) lines" }
    #expect(tooLong.isEmpty, "\(tooLong.joined(separator: "\n"))")
    let (median, ninth) = (lengths[lengths.count / 2], lengths[lengths.count * 9 / 10])
    print(
      "\(lengths.count) Swift files: median \(median.lines) lines, nine in ten up to "
        + "\(ninth.lines), longest \(lengths[lengths.count - 1].lines)")
  }

  /// `swift format` wraps code, and leaves comments as they are.
  @Test func `no comment in Sources has a line over 100 columns`() throws {
    let paths = ["swift", "h", "c"].flatMap { Repository.files("Sources", withExtension: $0) }
    let tooLong = try paths.flatMap { try Line.lines(of: $0) }.filter { line in
      line.text.count > 100 && line.text.drop { $0 == " " }.hasPrefix("//")
    }
    let list = tooLong.map { "\($0.path):\($0.number) has \($0.text.count) columns" }
    #expect(list.isEmpty, "\(list.joined(separator: "\n"))")
  }

  // MARK: - Functions and types

  private static let functionLines = 70
  private static let typeMethods = 40

  private static let shapes = Result {
    try Repository.files("Sources", "Tests", "Benchmarks", "Examples", withExtension: "swift")
      .map { (path: $0, shape: CodeShape(try Repository.text($0))) }
  }

  @Test func `no function has more than 70 lines`() throws {
    let lengths = Self.lengths(of: try Self.shapes.get())
    let problems = Self.problems(lengths, aim: Self.functionLines, "lines")
    // Who reads no function finds none too long.
    #expect(lengths.count > 5000)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test func `no type has more than 40 methods over all its files`() throws {
    let counts = Self.methods(in: try Self.shapes.get())
    let problems = Self.problems(counts, aim: Self.typeMethods, "methods")
    #expect(counts.count > 1000)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  private static func lengths(of files: [(path: String, shape: CodeShape)]) -> [String: Int] {
    var lengths: [String: Int] = [:]
    for (path, shape) in files {
      for function in shape.functions {
        lengths["\(path) \(function.name)", default: 0].formMaximum(function.lines)
      }
    }
    return lengths
  }

  /// Nested types are their own; initialisers are no methods.
  private static func methods(in files: [(path: String, shape: CodeShape)]) -> [String: Int] {
    var counts: [String: Int] = [:]
    for (path, shape) in files {
      let target = path.split(separator: "/").prefix(2).joined(separator: "/")
      for function in shape.functions where !["init", "subscript"].contains(function.name) {
        guard let type = function.type else { continue }
        counts["\(target) \(type)", default: 0] += 1
      }
    }
    return counts
  }

  private static func problems(_ found: [String: Int], aim: Int, _ unit: String) -> [String] {
    found.filter { $0.value > aim }
      .map { "\($0.key) has \($0.value) \(unit), over \(aim): split it." }.sorted()
  }

  // MARK: - What is found

  private static func made(_ lines: Int) -> CodeShape {
    CodeShape(
      """
      extension Made
      where Part: Codable {
        struct Inner {
          func inner() { run { print("}") } }
        }
        #if Server
        @discardableResult
        public func long(
          _ first: Int
        ) throws -> Int {
          func nested() {}
      \(String(repeating: "    run()\n", count: lines))
        }
        #endif
        init() {}
        func short() {}
      }
      protocol Asked {
        func ask()
        func tell()
      }
      func free() {
      }
      """)
  }

  @Test func `functions are measured, and told whose they are`() {
    let found = Self.made(70).functions.map { "\($0.type ?? "-") \($0.name) \($0.lines)" }
    #expect(
      found == [
        "Made.Inner inner 1", "Made long 76", "- nested 1", "Made init 1", "Made short 1",
        "Asked ask 1", "Asked tell 1", "- free 2",
      ])
  }

  @Test func `a function that is too long is found`() {
    let long = Self.lengths(of: [("Sources/A/Made.swift", Self.made(70))])
    let name = "Sources/A/Made.swift long"
    let problem = "\(name) has 76 lines, over 70: split it."
    #expect(Self.problems(long, aim: 70, "lines") == [problem])
    #expect(Self.problems(long, aim: 76, "lines").isEmpty)
  }

  @Test func `a type's methods are counted over its files, target by target`() {
    let files = ["Sources/A/One.swift", "Sources/A/Two.swift", "Sources/B/One.swift"]
    let counts = Self.methods(in: files.map { ($0, Self.made(1)) })
    #expect(counts["Sources/A Made"] == 4)
    #expect(counts["Sources/B Made"] == 2)
    #expect(counts["Sources/A Made.Inner"] == 2)
    #expect(
      Self.problems(counts, aim: 3, "methods") == [
        "Sources/A Asked has 4 methods, over 3: split it.",
        "Sources/A Made has 4 methods, over 3: split it.",
      ])
  }
}

extension Int {
  fileprivate mutating func formMaximum(_ other: Int) { self = Swift.max(self, other) }
}
