import Testing

/// `Docs/Architecture.md` and the “how to add” of `CONTRIBUTING.md` against the code.
struct ArchitectureTests {
  private static let page = "Docs/Architecture.md"

  private static func drawings() throws -> [String: FloorDrawing] {
    FloorDrawing.all(in: try Line.lines(of: page).map(\.text))
  }

  @Test func `the floors drawn are those of the folders`() throws {
    let drawings = try Self.drawings()
    var (problems, count) = ([String](), 0)
    for (target, files) in try Repository.targets().sorted(by: { $0.key < $1.key }) {
      let plan = FloorPlan(files)
      let folders = plan.folders.filter { $0 != "." }
      guard !folders.isEmpty else { continue }
      guard let drawing = drawings[target] else {
        problems.append("\(Self.page) has no drawing under the heading \(target).")
        continue
      }
      count += 1
      problems += drawing.problems(in: target, folders, Array(plan.uses.keys))
      // What stands in no folder is the roof.
      problems += plan.uses.filter { $0.key.to == "." }
        .map { "\(target)/\($0.key.from) uses what stands in no folder of \(target)." }
    }
    #expect(count >= 7)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test func `the floors drawn are those of the targets`() throws {
    let targets = try Repository.targets()
    var uses: Set<FloorPlan.Arrow> = []
    for (target, files) in targets {
      for line in files.flatMap({ $0.text.split(separator: "\n") }) where line.contains("import ") {
        guard let module = importedModule(String(line)), module != target else { continue }
        uses.insert(FloorPlan.Arrow(from: target, to: module))
      }
    }
    let drawing = try #require(try Self.drawings()["Targets"])
    let problems = drawing.problems(in: "Targets", targets.keys.sorted(), Array(uses))
    #expect(uses.count > 15)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test(arguments: [page, "CONTRIBUTING.md"])
  func `every path that the page names is there`(_ page: String) throws {
    let folders = ["Sources", "Tests", "Benchmarks", "Examples"]
    let files =
      folders.flatMap { Repository.files($0, withExtension: "swift") }
      + Repository.files("Sources", withExtension: "json")
    let path = #/(Sources|Tests|Benchmarks|Examples)\/[\w+\/.]*\w|[A-Z][\w+]*(\/[\w+]+)*\.swift/#
    var (lost, count) = ([String](), 0)
    for line in try Line.lines(of: page) {
      for match in line.text.matches(of: path) {
        count += 1
        let name = match.output.0
        let isThere = files.contains { file in
          file == name || file.hasPrefix("\(name)/") || file.hasSuffix("/\(name)")
        }
        if !isThere { lost.append("\(page):\(line.number) names \(name), not there.") }
      }
    }
    #expect(count > 10)
    #expect(lost.isEmpty, "\(lost.joined(separator: "\n"))")
  }

  /// The enumerations whose cases are the states, by the heading under which they are drawn.
  @Test(arguments: [
    ("The states of a job", "Sources/TernJobs/Job/JobRecord.swift", "JobState"),
    ("The states of an operation", "Sources/Tern/Store/PendingOperation.swift", "PendingReason"),
  ])
  func `every state is drawn`(_ heading: String, _ file: String, _ type: String) throws {
    let declaration = try #require(
      try Repository.text(file).split(separator: "public enum \(type):").last)
    let cases = declaration.prefix { $0 != "}" }.matches(of: /\bcase (\w+)/).map(\.output.1)
    let part = try #require(
      try Repository.text(Self.page).split(separator: "### \(heading)\n").last)
    let section = part.split(separator: "\n## ")[0]
    #expect(cases.count >= 3)
    for name in cases { #expect(section.contains(name), "\(heading) lacks \(name)") }
  }

  // MARK: - What is found

  private static let drawing = FloorDrawing.all(in: [
    "## House", "```text", "Roof  what is above", "---", "Left   one", "Right  another", "---",
    "Ground", "```", "## No house", "```text", "a ---> b", "```",
  ])

  private static func problems(_ names: [String], _ uses: (String, String)...) -> [String] {
    drawing["House"]?.problems(
      in: "House", names, uses.map { FloorPlan.Arrow(from: $0.0, to: $0.1) }) ?? []
  }

  @Test func `a drawing is read floor by floor`() {
    #expect(Self.drawing.keys.sorted() == ["House"])
    #expect(Self.drawing["House"]?.floors == [["Roof"], ["Left", "Right"], ["Ground"]])
    let names = ["Ground", "Left", "Right", "Roof"]
    #expect(Self.problems(names, ("Roof", "Left"), ("Left", "Ground")).isEmpty)
  }

  @Test func `a folder that is missing, gone or used from below is found`() {
    let names = ["Cellar", "Ground", "Left", "Right"]
    #expect(
      Self.problems(names, ("Ground", "Left"), ("Left", "Right"), ("Right", "Ground")) == [
        "House does not draw Cellar.", "House draws Roof, which is gone.",
        "House draws Ground no higher than Left, which it uses.",
        "House draws Left no higher than Right, which it uses.",
      ])
  }
}
