import Testing

/// How the pages read: in sentences that are understood at the first reading.
struct ProseTests {
  private static let mostWords = 30
  /// Of a hundred sentences of a page, so many may be longer.
  private static let mostLong = 2

  @Test func `hardly a sentence of a page has over thirty words`() throws {
    // Decisions are notes of their time, and invariants have lists of their tests.
    let pages = Repository.pages().filter {
      !$0.hasPrefix("Docs/Design/") && $0 != "Docs/Invariants.md"
    }
    var (problems, count) = ([String](), 0)
    for page in pages + ["SECURITY.md", "CHANGELOG.md"] {
      let sentences = Self.sentences(of: try Repository.text(page))
      let long = sentences.filter { $0.count > Self.mostWords }
      count += sentences.count
      guard long.count * 100 > max(sentences.count * Self.mostLong, 200) else { continue }
      problems.append(
        "\(page) has \(long.count) of \(sentences.count), of which the first begins: "
          + long[0].prefix(8).joined(separator: " "))
    }
    // Who reads no sentence finds none too long.
    #expect(count > 3_000)
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test func `sentences are told apart, and code is none`() {
    let page = """
      # A heading
      One sentence, of [a link](Docs/Guide.md#so-long). Another (with
      an end.) `third` one e.g. goes on
      - A fourth, which ends here: yes!

      ```swift
      let code = "Is none. At all."
      ```
      | A fifth cell here | a sixth. Seventh one stands here |
      """
    let sentences = Self.sentences(of: page).map { $0.joined(separator: " ") }
    #expect(
      sentences == [
        "One sentence, of a link.", "Another (with an end.)", "`third` one e.g. goes on",
        "A fourth, which ends here: yes!", "A fifth cell here", "Seventh one stands here",
      ])
  }

  /// The words of each sentence of over two words, in paragraphs, items and cells.
  private static func sentences(of page: String) -> [[Substring]] {
    var (sentences, words, isCode) = ([[Substring]](), [Substring](), false)
    func end() {
      let said = words.filter { $0.contains { $0.isLetter || $0.isNumber } }
      if said.count > 2 { sentences.append(said) }
      words = []
    }
    for line in page.replacing(#/\]\([^)]*\)/#, with: "").split(
      separator: "\n", omittingEmptySubsequences: false)
    {
      let text = line.drop { $0 == " " }
      if text.hasPrefix("```") { isCode.toggle() }
      if isCode || text.hasPrefix("```") || text.hasPrefix("#") {
        end()
        continue
      }
      if text.isEmpty || text.hasPrefix("- ") || text.hasPrefix("|") || isNumbered(text) { end() }
      for cell in text.hasPrefix("|") ? text.split(separator: "|") : [text] {
        for word in cell.split(separator: " ") {
          if let last = words.last, isEnd(last), isBeginning(word) { end() }
          words.append(word.hasPrefix("[") ? word.dropFirst() : word)
        }
        if text.hasPrefix("|") { end() }
      }
    }
    end()
    return sentences
  }

  private static func isNumbered(_ text: Substring) -> Bool {
    text.prefix { $0.isNumber }.count > 0 && text.drop { $0.isNumber }.hasPrefix(". ")
  }

  private static func isEnd(_ word: Substring) -> Bool {
    guard let last = word.last(where: { !")”`*]".contains($0) }) else { return false }
    return ".!?".contains(last)
  }

  private static func isBeginning(_ word: Substring) -> Bool {
    guard let first = word.first(where: { !"(“`*[".contains($0) }) else { return false }
    return first.isUppercase || word.hasPrefix("`")
  }
}
