import Testing

/// Tests that could pass without having seen anything, and those that wait for real time and don't
/// say why.
struct HonestTests {
  @Test func `every test waits for signals, and sees what it means`() throws {
    var tests = 0
    var found: [String] = []
    for path in Repository.files("Tests", "Examples/Tests", withExtension: "swift") {
      let source = TestSource(try Repository.text(path))
      tests += source.functions.count { $0.isTest }
      // The simulation's time is virtual: what sleeps there has no other.
      let sleeps = path.hasPrefix("Tests/Simulation/") ? [] : source.unexcusedSleeps
      found += (sleeps + source.blindTests + source.silentSkips).map { "\(path):\($0)" }
    }
    // Who reads no test finds nothing wrong.
    #expect(tests > 1500)
    #expect(found.isEmpty, "\(found.joined(separator: "\n"))")
  }

  // MARK: - What is found

  @Test(arguments: [
    "try await Task.sleep(for: .seconds(1))", "Thread.sleep(forTimeInterval: 1)",
    "usleep(20_000)", "sleep(1)", "if isSlow { Glibc.sleep(1) }", "sched_yield()",
    "queue.asyncAfter(deadline: .now() + 1) {}", "_ = semaphore.wait(timeout: .now() + 1)",
    "poll(nil, 0, 100)", "try await ContinuousClock().sleep(for: .seconds(1))",
  ])
  func `a sleep is found, unless a comment gives the reason`(_ line: String) {
    #expect(TestSource(line).unexcusedSleeps.count == 1)
    #expect(TestSource("// For a while.\n\(line)").unexcusedSleeps.count == 1)
    #expect(TestSource("\(line)  // real time: by libcurl's clock").unexcusedSleeps.isEmpty)
    #expect(TestSource("// real time: by libcurl's clock\n\(line)").unexcusedSleeps.isEmpty)
  }

  @Test(arguments: [
    "try await rig.sleep(5)", "try await clock.sleep(for: .seconds(5))",
    "func sleep(_ seconds: Double) {}", "// Task.sleep", #"let text = "Task.sleep""#,
  ])
  func `a virtual clock's sleep is none, nor what only speaks of one`(_ line: String) {
    #expect(TestSource(line).unexcusedSleeps.isEmpty)
  }

  @Test(arguments: [
    // Nothing is expected.
    "  run()", "  // #expect(isDone)", "  print(\"#expect(isDone)\")", "  try checkpoint(1)",
    // An exit before anything is.
    "  guard isThere else { return }\n  #expect(isDone)",
    "  if list.isEmpty {\n    return\n  }\n  #expect(isDone)",
    "  try Rig.run { rig in\n    guard rig.isThere else { return }\n    #expect(isDone)\n  }",
    // What no element reaches.
    "  for await next in values {\n    #expect(next == 1)\n    break\n  }",
    "  while let next = try await values.next() { #expect(next == 1) }",
  ])
  func `a test that sees nothing is found`(_ body: String) {
    #expect(TestSource(Self.test(body)).blindTests.count == 1)
    #expect(TestSource(Self.test("  #expect(isDone)\n\(body)")).blindTests.isEmpty)
  }

  @Test(arguments: [
    "  #expect(isDone)", "  try #require(isDone)", "  try expectEqual(a, b)",
    "  await confirmation { run($0) }", "  check { Pipe($0) }", "  try conformance.run(scenario)",
    "  guard isDone else {\n    Issue.record(error)\n    return\n  }",
    "  try await a.waitForRows(1)\n  guard isThere else { return }",
    "  let server = Server {\n    guard $0.isThere else { return }\n  }\n  #expect(isDone)",
    "  for await next in values { #expect(next == 1) }\n  #expect(isDone)",
    "  func look() {\n    if isThere { return }\n  }\n  look()\n  #expect(isDone)",
  ])
  func `a test that sees something is not found`(_ body: String) {
    #expect(TestSource(Self.test(body)).blindTests.isEmpty)
  }

  @Test func `a helper of the file that expects something is as good`() {
    let helpers = "func look() throws {\n  try see()\n}\nfunc see() throws { #expect(isDone) }\n"
    #expect(TestSource(helpers + Self.test("  try look()")).blindTests.isEmpty)
    #expect(TestSource(helpers + Self.test("  try run()")).blindTests.count == 1)
  }

  @Test func `a test that is skipped has a reason that is printed`() {
    let silent = TestSource(#"@Test(.enabled(if: isThere("a")), arguments: 1...2) func a() {}"#)
    #expect(silent.silentSkips == [#"1: .enabled(if: isThere("")) prints no reason"#])
    let told = TestSource("@Test(\n  .enabled(\n    if: isThere,\n    \"it is not there\"))")
    #expect(told.silentSkips.isEmpty)
  }

  private static func test(_ body: String) -> String {
    "@Test(arguments: 1...2)\nfunc `it is seen`(_ number: Int) async throws {\n\(body)\n}\n"
  }
}

extension TestSource {
  /// The functions that block or suspend for a time. `clock.sleep` may be anything's, and is a
  /// virtual clock's nearly everywhere.
  fileprivate var unexcusedSleeps: [String] {
    let words = ["sleep", "asyncAfter", "sched_yield(", "poll(nil", ".wait(timeout:"]
    let sleep = #/(Task|Thread|ContinuousClock\(\)|Darwin|Glibc)\.\w*sleep|(^|[^.\w])\w*sleep\(/#
    return code.indices.filter { index in
      guard let word = words.first(where: code[index].contains),
        word != "sleep" || code[index].contains(sleep), !code[index].contains("func sleep(")
      else { return false }
      // A reason can stand above the statement that the line is a part of.
      return !lines[max(0, index - 3)...index].contains { $0.contains(#/\/\/.*real time:/#) }
    }.map { "\($0 + 1): waits, and no comment near says “real time:” and why" }
  }

  /// Tests that pass though nothing happened, as far as a text can tell.
  fileprivate var blindTests: [String] {
    let expectations = Expectations(self)
    return functions.filter(\.isTest).compactMap { test in
      problem(of: test, test.body.filter(expectations.lines.contains)).map {
        "\(test.line + 1): \(test.name) \($0)"
      }
    }
  }

  private func problem(of test: Function, _ expectations: [Int]) -> String? {
    guard let first = expectations.first else { return "expects nothing" }
    if (test.body.lowerBound..<first).contains(where: { isExit($0, of: test) }) {
      return "can return before its first expectation"
    }
    if expectations.allSatisfy({ isElement($0, of: test) }) {
      return "expects only what an element of a sequence brings, which may have none"
    }
    return nil
  }

  /// Whether a line ends a test early and without a word, and not a closure of its own.
  private func isExit(_ index: Int, of test: Function) -> Bool {
    let control = #/^ *(\} )?(case|catch|default|do|else|for|guard|if|repeat|switch|while)\b/#
    guard code[index].contains("return"), code[index].contains(#/\breturn( *\}|$)/#),
      code[index].contains(control) || code[index].contains(#/^ *return\b/#)
    else { return false }
    // What a test waits for is a part of it: `try withFolder { path in`.
    return enclosing(index, of: test).allSatisfy { line in
      line.contains(control) || line.contains(#/^ *(try|await) .*\{/#) || line.contains(#/^ *\{$/#)
    }
  }

  /// Whether a line is reached by an element of an asynchronous sequence alone.
  private func isElement(_ index: Int, of test: Function) -> Bool {
    (enclosing(index, of: test) + [code[index]]).contains { line in
      line.contains(#/^ *for (try )?await\b|^ *while let .* = (try )?await\b/#)
    }
  }

  /// The lines of a test that a line stands below, from the nearest one out.
  private func enclosing(_ index: Int, of test: Function) -> [String] {
    guard var inner = indentation(of: index) else { return [] }
    return (test.body.lowerBound..<max(index, test.body.lowerBound)).reversed().compactMap { line in
      guard let outer = indentation(of: line), outer < inner else { return nil }
      inner = outer
      return code[line]
    }
  }

  /// Conditions of tests without a text for the runner, which prints that with the skip.
  fileprivate var silentSkips: [String] {
    code.indices.filter { code[$0].contains(".enabled(") }.compactMap { index in
      let text = code[index...].prefix(4).map { $0.drop { $0 == " " } }.joined(separator: " ")
      guard let start = text.range(of: ".enabled(")?.upperBound else { return nil }
      var depth = 1
      let arguments = text[start...].prefix { character in
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
        return depth > 0
      }
      guard !arguments.contains(#/, *""/#) else { return nil }
      return "\(index + 1): .enabled(\(arguments)) prints no reason"
    }
  }
}

/// The lines of a file that fail a test by themselves, or call what does: a function of the file, or
/// one of another file whose name begins with what it does. A conformance suite's scenario throws.
private struct Expectations {
  private(set) var lines: Set<Int>

  private static let macros = [
    "#expect", "#require", "Issue.record(", "confirmation", ".run(scenario)",
  ]
  private static let helpers = ["check", "expect", "refuses", "require", "waitFor"]

  init(_ source: TestSource) {
    let code = source.code
    let helper = #/(^|\W)(check|expect|refuses|require|waitFor)([A-Z]\w*)?(\(| \{)/#
    lines = Set(
      code.indices.filter { index in
        let line = code[index]
        return Self.macros.contains(where: line.contains)
          || Self.helpers.contains(where: line.contains) && line.contains(helper)
      })
    var rest = source.functions.filter { !$0.isTest }
    while true {
      let seeing = rest.filter { $0.body.contains(where: lines.contains) }
      if seeing.isEmpty { return }
      rest.removeAll { $0.body.contains(where: lines.contains) }
      let names = Set(seeing.map(\.name))
      lines.formUnion(
        code.indices.filter { index in
          names.contains { code[index].contains($0) && Self.isCall(of: $0, code[index]) }
        })
    }
  }

  private static func isCall(of name: String, _ line: String) -> Bool {
    line.ranges(of: name).contains { range in
      let (before, after) = (line[..<range.lowerBound].last, line[range.upperBound...])
      let isWhole = before.map { !$0.isLetter && !$0.isNumber && $0 != "_" } ?? true
      return isWhole && (after.hasPrefix("(") || after.hasPrefix(" {"))
    }
  }
}
