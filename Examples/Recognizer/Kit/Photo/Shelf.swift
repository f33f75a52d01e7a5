/// What is known of one photo so far: the words of every direction, and the books that were found.
struct Shelf {
  let matcher: Matcher
  private var words: [Int: [SeenWord]] = [:]
  private var matches: [Int: [Match]] = [:]
  /// Where the words stand that belong to a book that was found.
  private var taken: [Box] = []
  private var found: Set<[String]> = []

  /// From here on a book is told at once; what is read later can only make it surer.
  private static let sureConfidence = 0.8

  init(matcher: Matcher) {
    self.matcher = matcher
  }

  mutating func add(_ seen: [SeenWord], turned degrees: Int) {
    words[degrees, default: []] += seen
    matches[degrees] = matcher.matches(in: words[degrees] ?? [])
  }

  /// The book of a barcode, when the catalogue has it and it is new.
  mutating func add(_ isbn: ISBN) -> Finding? {
    guard let index = matcher.catalogue.index(of: isbn) else { return nil }
    let book = matcher.catalogue.books[index]
    guard found.insert(RecognizerKit.words(of: book.title)).inserted else { return nil }
    return Finding(book: book, confidence: 0.99)
  }

  /// In which most letters were read.
  var mainDirection: Int {
    func letters(_ degrees: Int) -> Int {
      words[degrees, default: []].filter { $0.text.count >= 4 }.reduce(0) { $0 + $1.text.count }
    }
    return words.keys.max { (letters($0), $0) < (letters($1), $1) } ?? 0
  }

  /// The books that are new since the last call, and sure.
  mutating func sure() -> [Finding] { take(from: Self.sureConfidence) }

  /// All that are new since the last call.
  mutating func all() -> [Finding] { take(from: 0) }

  /// A word belongs to one book: the likeliest takes its words away from the others.
  private mutating func take(from least: Double) -> [Finding] {
    let likeliest = matches.values.joined()
      .sorted { ($0.confidence, $1.book) > ($1.confidence, $0.book) }
    var findings: [Finding] = []
    for match in likeliest where match.confidence >= least {
      let places = match.title.map(\.place)
      let used = places.count { place in taken.contains { $0.overlap(place) > 0.5 } }
      guard used * 2 < places.count else { continue }
      let book = matcher.catalogue.books[match.book]
      guard found.insert(RecognizerKit.words(of: book.title)).inserted else { continue }
      taken += places + match.names.map(\.place)
      findings.append(Finding(book: book, confidence: match.confidence))
    }
    return findings
  }
}
