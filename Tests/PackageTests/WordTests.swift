import Testing

/// The glossary's words, and none of those that they replaced.
struct WordTests {
  /// What was said before, and what is said now.
  private static var former: [(said: Regex<Substring>, instead: String)] {
    [
      (/(?i)\b(?:held|holds?|holding)(?: \w+){0,2} aside\b/, "quarantined"),
      (/\bwaiting operations?\b/, "pending operations"),
      (/\bunsealed notes?\b/, "unsealed changes"),
      (/\bthe queue has no room\b/, "the queue is full"),
    ]
  }

  /// Parts of public names that only Tern would read, and the glossary's for them.
  private static var names: [(part: Regex<Substring>, instead: String)] {
    [
      (/(?:h|H)eldAside/, "quarantined"), (/\bWaiting[A-Z]|\bwaiting[A-Z]/, "pending"),
      (/\blife\b|[a-z]Life\b/, "generation"), (/\b\w*Notes?\b/, "changes"),
      (/\b(?:settle|hold|keep|stand)\w*\(/, "what it does, in the field's word"),
    ]
  }

  @Test func `pages, comments and messages have the glossary's words`() throws {
    let pages = Repository.pages().filter { !$0.hasPrefix("Docs/Design/") }
    let former = Self.former
    var problems: [String] = []
    for path in pages + Repository.files("Sources", withExtension: "swift") {
      for line in try Line.lines(of: path) {
        problems += former.filter { line.text.contains($0.said) }
          .map { "\(line), say “\($0.instead)”" }
      }
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test func `public names have the glossary's words`() throws {
    let names = Self.names
    var (problems, count) = ([String](), 0)
    for path in Repository.files("Sources/Tern", "Sources/TernJobs", withExtension: "swift") {
      for line in try Line.lines(of: path) {
        guard let name = Self.publicName(line.text) else { continue }
        count += 1
        problems += names.filter { name.contains($0.part) }
          .map { "\(line), say “\($0.instead)”" }
      }
    }
    #expect(count > 400)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  /// What a line declares to everybody, without types and values.
  private static func publicName(_ line: String) -> Substring? {
    let declaration =
      /^\s*(?:@\w+(?:\([^)]*\))? )*public (?:[a-z()]+ )*?(?:func|var|let|case|struct|class|enum|actor|protocol) (\w+\(?)/
    return line.firstMatch(of: declaration)?.1
  }

  @Test func `words that were replaced are found`() {
    let lines = ["rows held aside", "It holds the row aside.", "3 waiting operations"]
    for line in lines { #expect(Self.former.contains { line.contains($0.said) }, "\(line)") }
    #expect(!Self.former.contains { "the rows are put aside".contains($0.said) })
    for (line, isBad) in [
      ("  public var heldAside = 0", true), ("public func settle() {", true),
      ("  public let waitingOperations: Int", true), ("  public var pending = 0", false),
      ("  @discardableResult public func seal() {", false),
    ] {
      let name = Self.publicName(line)
      #expect(name != nil)
      #expect(Self.names.contains { name?.contains($0.part) == true } == isBad, "\(line)")
    }
  }
}
