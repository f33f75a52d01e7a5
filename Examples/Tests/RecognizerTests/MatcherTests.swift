import Testing

@testable import RecognizerKit

struct MatcherTests {
  private static let matcher = Matcher(
    Catalogue(
      [
        ("The Salmon of Doubt (Dirk Gently, #3)", "Douglas Adams"), ("Doubt", "Ann Other"),
        ("Solaris", "Stanisław Lem"), ("The Futurological Congress", "Stanisław Lem"),
        ("It", "Stephen King"), ("The Flood", "David Maine"), ("The Flood", "Gro Strand"),
        ("Halting State", "Charles Stross"), ("State and Main", "Ann Other"),
      ].map {
        CatalogueBook(
          title: $0.0, originalTitle: nil, authors: [$0.1], isbn: nil, coverURL: nil)
      }))

  /// Words in rows of one spine after another, each row 50 pixels below the one before.
  private func seen(_ rows: String...) -> [SeenWord] {
    rows.enumerated().flatMap { row, text in
      words(of: text).enumerated().map { column, word in
        let box = Box(x: 100 + 300 * column, y: 50 * row, width: 200, height: 40)
        return SeenWord(text: word, box: box, place: box)
      }
    }
  }

  private func titles(_ rows: [SeenWord]) -> [String] {
    var shelf = Shelf(matcher: Self.matcher)
    shelf.add(rows, turned: 0)
    return shelf.all().map { "\($0.book.title) by \($0.book.authors[0])" }
  }

  @Test func `a title is found over two lines, and takes its words from a shorter one`() {
    let found = titles(seen("Douglas The Salmon", "Adams of Doubt"))
    #expect(found == ["The Salmon of Doubt (Dirk Gently, #3) by Douglas Adams"])
  }

  @Test func `letters that were read wrong are forgiven`() {
    #expect(titles(seen("Salaris Stanislaw Lem")) == ["Solaris by Stanisław Lem"])
    #expect(titles(seen("FUTUR0L0GICAI. CONGRESS")).count == 1)
  }

  @Test func `words that stand far apart are no title`() {
    #expect(titles(seen("Futurological", "", "", "", "", "", "", "", "Congress")).isEmpty)
  }

  @Test func `the author decides between equal titles`() {
    #expect(titles(seen("The Flood Gro Strand")) == ["The Flood by Gro Strand"])
    #expect(titles(seen("The Flood David Maine")) == ["The Flood by David Maine"])
  }

  @Test func `a short title needs its author`() {
    #expect(titles(seen("it was a dark night")).isEmpty)
    #expect(titles(seen("It Stephen King")) == ["It by Stephen King"])
  }

  @Test func `a word of a title is not the title`() {
    #expect(titles(seen("Congress")).isEmpty)
    #expect(titles(seen("The of and State")).isEmpty)
  }

  @Test func `more that was seen makes it surer`() throws {
    func confidence(_ rows: [SeenWord]) throws -> Double {
      try #require(Self.matcher.matches(in: rows).first).confidence
    }
    let title = try confidence(seen("Halting State"))
    #expect(try confidence(seen("Halting State Stross")) > title)
    #expect(try confidence(seen("Ha1ting State")) < title)
  }

  @Test func `a letter of the same shape is nearer than another one`() {
    #expect(readingDistance(Array("black".utf8), Array("biack".utf8)) == 0.4)
    #expect(readingDistance(Array("black".utf8), Array("bxack".utf8)) == 1)
    #expect(readingDistance(Array("black".utf8), Array("blacks".utf8)) == 1)
  }
}
