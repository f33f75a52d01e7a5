import Foundation

/// A book that may stand in a photo, and what speaks for it.
struct Match: Hashable, Sendable {
  /// Its position in the catalogue.
  var book: Int
  /// Which part of the title was seen, by the weight of its words; from 0 to 1.
  var coverage: Double
  /// How much the words say that were seen of the title: 1 is one rare word, letter for letter.
  var evidence: Double
  /// How much the author's name says that was seen beside it.
  var author: Double
  /// Whether the catalogue names authors, and none was seen.
  var lacksAuthor: Bool
  /// Whether it was seen in the first form that the catalogue gives it.
  var isProperTitle: Bool
  /// The words of the title that were seen.
  var title: [SeenWord]
  /// Its author's names that were seen beside it.
  var names: [SeenWord]

  /// What the words of the title were read as.
  var words: Set<String> { Set(title.map(\.text)) }

  /// Between 0 and 1, and rising with all three.
  var confidence: Double {
    let covered = min(1, coverage + author / 4) * (isProperTitle ? 1 : 0.98)
    return (lacksAuthor ? 0.85 : 1) * covered * covered
      * (1 - pow(2, -1.6 * evidence - 2.5 * author))
  }
}
