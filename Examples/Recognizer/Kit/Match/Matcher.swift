/// Finds the books whose titles stand among words that were read with mistakes.
public struct Matcher: Sendable {
  public let catalogue: Catalogue
  /// Below it, nothing is reported.
  public let leastConfidence: Double
  private let vocabulary: Vocabulary
  /// For each book, the words of each form of its title.
  private let titles: [[[Int]]]
  /// For each book, its first authors' names: the last name, and all of the name as one word.
  private let names: [[Int]]
  /// For each word, the books with it in a title.
  private let books: [[Int]]

  public init(_ catalogue: Catalogue, leastConfidence: Double = 0.4) {
    self.catalogue = catalogue
    self.leastConfidence = leastConfidence
    let forms = catalogue.books.map(titleForms)
    let authors = catalogue.books.map { book in
      book.authors.prefix(3).map(words(of:)).filter { !$0.isEmpty }.map { [$0.joined()] + $0 }
    }
    let vocabulary = Vocabulary(
      books: zip(forms, authors).map { Set(($0 + $1).joined()) })
    self.vocabulary = vocabulary
    titles = forms.map { $0.map { $0.compactMap { vocabulary.id($0) } } }
    names = authors.map { names in
      names.flatMap { [$0.first, $0.last].compactMap { $0.flatMap { vocabulary.id($0) } } }
    }
    var books = [[Int]](repeating: [], count: vocabulary.texts.count)
    for (book, forms) in titles.enumerated() {
      for word in Set(forms.joined()) { books[word].append(book) }
    }
    self.books = books
  }

  /// The books whose titles can be among `seen`, most likely first; each of `seen` belongs to
  /// one of them at most. The same words give the same answer.
  ///
  /// - Parameter seen: read from the photo turned in one way.
  func matches(in seen: [SeenWord]) -> [Match] {
    let sightings = sightings(of: seen)
    var candidates: Set<Int> = []
    for word in sightings.keys where vocabulary.weights[word] >= 0.25 {
      candidates.formUnion(books[word])
    }
    let matches = candidates.compactMap { book in
      titles[book].indices.compactMap { best(form: $0, of: book, sightings) }.likeliest
    }.filter { $0.confidence >= leastConfidence }
    let proper = matches.filter(\.isProperTitle)
    return matches.filter { match in
      // What only was called so gives way to what is called so, unless its author stands there.
      match.isProperTitle
        || !proper.contains { $0.words == match.words && $0.author >= match.author }
    }.sorted { ($0.confidence, $1.book) > ($1.confidence, $0.book) }
  }

  /// Where a word of the vocabulary may have been seen.
  fileprivate struct Sighting {
    var seen: SeenWord
    var similarity: Double
  }

  private func sightings(of seen: [SeenWord]) -> [Int: [Sighting]] {
    var readings: [String: [Vocabulary.Reading]] = [:]
    var sightings: [Int: [Sighting]] = [:]
    for word in seen + joined(seen) {
      if readings[word.text] == nil { readings[word.text] = vocabulary.readings(of: word.text) }
      for reading in readings[word.text] ?? [] {
        sightings[reading.word, default: []].append(
          Sighting(seen: word, similarity: reading.similarity))
      }
    }
    return sightings
  }

  /// The likeliest place of a title: around each sighting of its weightiest word that was seen.
  private func best(
    form: Int, of book: Int, _ sightings: [Int: [Sighting]]
  ) -> Match? {
    let title = titles[book][form]
    let weights = vocabulary.weights
    let total = title.reduce(0) { $0 + weights[$1] }
    guard let anchor = title.filter({ sightings[$0] != nil }).max(by: { weights[$0] < weights[$1] })
    else { return nil }
    return (sightings[anchor] ?? []).map { place in
      func nearest(_ word: Int) -> Sighting? {
        (sightings[word] ?? []).filter { $0.seen.isBeside(place.seen) }
          .max { $0.similarity < $1.similarity }
      }
      var (evidence, read) = (0.0, [SeenWord]())
      for word in title {
        guard let found = word == anchor ? place : nearest(word) else { continue }
        evidence += weights[word] * found.trust
        read.append(found.seen)
      }
      var (author, signed) = (0.0, [SeenWord]())
      for word in names[book] where !title.contains(word) {
        guard let found = nearest(word) else { continue }
        signed.append(found.seen)
        author = max(author, min(1, weights[word]) * found.trust)
      }
      return Match(
        book: book, coverage: evidence / total, evidence: evidence, author: author,
        lacksAuthor: signed.isEmpty && !names[book].isEmpty, isProperTitle: form == 0, title: read,
        names: signed)
    }.likeliest
  }
}

extension [Match] {
  /// The first of the most confident.
  fileprivate var likeliest: Match? {
    self.max { $0.confidence <= $1.confidence }
  }
}

extension Matcher.Sighting {
  /// Falls faster than the similarity: words that differ by a letter are often two words.
  fileprivate var trust: Double { similarity * similarity * similarity }
}

/// The forms in which a title can stand on a spine: without the series in parentheses, with and
/// without what follows a colon, and as it was called first.
private func titleForms(of book: CatalogueBook) -> [[String]] {
  var forms: [[String]] = []
  for title in [book.title, book.originalTitle ?? ""] {
    let whole = title.split(separator: " (", maxSplits: 1).first.map(String.init) ?? title
    let main = whole.split(separator: ":", maxSplits: 1).first.map(String.init) ?? whole
    let read = [whole, main].map(words(of:))
    // Letters of a title can stand so close that they are read as one word.
    for form in read + read.map({ [$0.joined()] })
    where !form.joined().isEmpty && !forms.contains(form) {
      forms.append(form)
    }
  }
  return forms
}
