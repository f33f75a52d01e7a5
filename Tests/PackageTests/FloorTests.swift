import Testing

/// A folder uses only folders below it: who reads one needs to know those and no other.
struct FloorTests {
  @Test func `no folders of a target use each other in a circle`() throws {
    var (problems, arrows) = ([String](), 0)
    let targets = try Repository.targets()
    for (target, files) in targets.sorted(by: { $0.key < $1.key }) {
      let plan = FloorPlan(files)
      arrows += plan.uses.count
      problems += Self.problems(of: plan, in: target)
    }
    // Who sees no use finds no circle.
    #expect(arrows > 150)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  private static func problems(of plan: FloorPlan, in target: String) -> [String] {
    plan.circles.map { circle in
      let folders = circle.joined(separator: ", ")
      return """
        These folders of \(target) use each other in a circle: \(folders). Move a type to the folder \
        it belongs to, split a file that has two jobs, or pass a value down. The thinnest uses:
        \(plan.thinnest(in: circle).joined(separator: "\n"))
        """
    }
  }

  // MARK: - What is found

  private static let circle = FloorPlan([
    ("Row/Row.swift", "struct Row { var change: Change }"),
    ("Row/Key.swift", "struct Key {}"),
    ("Change/Change.swift", "enum Change { case insert(Row), delete(Key), nothing(SQLiteValue) }"),
    ("SQLiteValue/SQLiteValue.swift", "struct SQLiteValue {}"),
    ("Explain.swift", "func explain(_ row: Row) {}"),
  ])

  @Test func `a circle is found, with what makes it`() throws {
    #expect(Self.circle.circles == [["Change", "Row"]])
    let problems = Self.problems(of: Self.circle, in: "Made")
    let problem = try #require(problems.first)
    #expect(problems.count == 1)
    #expect(problem.contains("of Made use each other in a circle: Change, Row."))
    let lines = problem.split(separator: "\n").suffix(2)
    #expect(
      lines == [
        "  Row → Change: Row/Row.swift names Change",
        "  Change → Row: Change/Change.swift names Key, Change/Change.swift names Row",
      ])
  }

  @Test func `a circle of three folders is one`() {
    let plan = FloorPlan([
      ("A/A.swift", "struct A { let b: B }"), ("B/B.swift", "struct B { let c: [C] }"),
      ("C/C.swift", "final class C { var a: A? }"), ("D/D.swift", "actor D { let a: A, b: B }"),
    ])
    #expect(plan.circles == [["A", "B", "C"]])
  }

  /// What a file says beside declaring `Low`, which `High` uses; whether that uses `High`.
  @Test(arguments: [
    ("let high: High?", true), ("// High", false), ("/* High */", false),
    (#"let a = "High""#, false),
    (#"let a = "\(High.self)""#, true), (##"let a = #"\(High.self)"#"##, false),
    (##"let a = #"\#(High.self)"#"##, true), ("let a = \"\"\"\n  \"High\"\n  \"\"\"", false),
    ("let a = \"\"\"\n  \\(\"\\(High.self)\")\n  \"\"\"", true), (#"let a = "\"High""#, false),
    ("let a = #/\"/#; let b: High", true), ("let a = \"\", b: High", true),
    ("let highest = 1", false),
    ("let a: HighTide", false), ("extension High {}", true),
  ])
  func `a use is told from what only reads like one`(_ text: String, _ isUse: Bool) {
    let plan = FloorPlan([
      ("Low/Low.swift", "struct Low {}\n" + text),
      ("High/High.swift", "struct High { var a: Low }"),
    ])
    #expect(plan.circles.isEmpty == !isUse)
  }

  @Test func `a type that two folders declare is nobody's`() {
    let plan = FloorPlan([
      ("A/A.swift", "struct A { enum Kind {} }"),
      ("B/B.swift", "struct B { enum Kind {}; let a: A }"),
      ("A/A+More.swift", "extension A { var kind: Kind? { nil } }"),
    ])
    #expect(plan.circles.isEmpty)
    #expect(plan.uses.count == 1)
  }
}
