import Foundation

/// The words of a catalogue, findable by what a reader made of them.
struct Vocabulary: Sendable {
  /// A known word that a read one may stand for.
  struct Reading: Hashable, Sendable {
    var word: Int
    /// 1 for the same letters, less for each that differs.
    var similarity: Double
  }

  private(set) var texts: [[UInt8]] = []
  /// Between 0 and 1.6: how much it says to have seen the word. Words of many books say little, and
  /// so do short ones, which noise spells by chance.
  private(set) var weights: [Double] = []
  private var ids: [String: Int] = [:]
  private var grams: [UInt32: [Int]] = [:]

  /// - Parameter books: each book's words, titles and authors together.
  init(books: [Set<String>]) {
    var counts: [Int] = []
    for word in books.flatMap({ $0.sorted() }) {
      if let id = ids[word] {
        counts[id] += 1
        continue
      }
      ids[word] = texts.count
      texts.append(Array(word.utf8))
      counts.append(1)
    }
    let most = log2(Double(max(2, books.count)))
    weights = zip(texts, counts).map { text, count in
      let rarity = max(0.02, log2(Double(books.count) / Double(count)) / most)
      return rarity * min(1.6, Double(text.count) / 6)
    }
    for (id, text) in texts.enumerated() {
      for gram in Self.trigrams(of: text) { grams[gram, default: []].append(id) }
    }
  }

  func id(_ word: String) -> Int? { ids[word] }

  /// The known words that `word` may be, at most one letter in four being another.
  func readings(of word: String) -> [Reading] {
    let text = Array(word.utf8)
    guard text.count >= 4 else { return ids[word].map { [Reading(word: $0, similarity: 1)] } ?? [] }
    let own = Self.trigrams(of: text)
    var shared: [Int: Int] = [:]
    for gram in own { for id in grams[gram] ?? [] { shared[id, default: 0] += 1 } }
    return shared.compactMap { id, count in
      let longer = max(text.count, texts[id].count)
      // One letter that differs spoils up to three trigrams.
      guard count >= longer + 2 - 3 * (longer / 4), texts[id].count >= 3 else { return nil }
      let distance = readingDistance(text, texts[id])
      guard distance <= Double(longer / 4) else { return nil }
      return Reading(word: id, similarity: 1 - distance / Double(longer))
    }.sorted { ($0.similarity, $1.word) > ($1.similarity, $0.word) }
  }

  /// Of the word with two blanks on either side, so that its ends count.
  private static func trigrams(of text: [UInt8]) -> Set<UInt32> {
    let padded = [0, 0] + text.map(UInt32.init) + [0, 0]
    return Set((2..<padded.count).map { padded[$0 - 2] << 16 | padded[$0 - 1] << 8 | padded[$0] })
  }
}
