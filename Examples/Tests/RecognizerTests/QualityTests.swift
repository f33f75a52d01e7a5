import ExampleRehearsals
import Foundation
import Testing

@testable import RecognizerKit

/// What is found on photos, against what stands there.
@Suite(.timeLimit(.minutes(5)))
struct QualityTests {
  private static let examples = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private static let data = examples.deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "shared/data")
  private static let hasTools = PhotoReader.missingTools == nil

  /// Title and author of what stands on the real shelves.
  private static let shelves: [String: [(title: String, author: String)]] = [
    "shelf-0": [
      ("I Am a Strange Loop", "Douglas R. Hofstadter"), ("The Tipping Point", "Malcolm Gladwell"),
      ("The Bedroom Secrets of the Master Chefs", "Irvine Welsh"),
      ("The Salmon of Doubt", "Douglas Adams"), ("Singularity Sky", "Charles Stross"),
      ("The Futurological Congress", "Stanisław Lem"),
      ("The Undercover Economist", "Tim Harford"), ("Solaris", "Stanisław Lem"),
    ],
    "shelf-4": [
      ("Dawn of the Dumb", "Charlie Brooker"), ("Cityboy", "Geraint Anderson"),
      ("Kill Your Friends", "John Niven"), ("Moab Is My Washpot", "Stephen Fry"),
      ("The Liar", "Stephen Fry"), ("Child 44", "Tom Rob Smith"),
    ],
    "shelf-6": [
      ("The Post-Birthday World", "Lionel Shriver"), ("The Black Swan", "Nassim Nicholas Taleb"),
      ("Absurdistan", "Gary Shteyngart"), ("Halting State", "Charles Stross"),
      ("Catch-22", "Joseph Heller"), ("Here Comes Everybody", "Clay Shirky"),
    ],
    "shelf-11": [
      ("The Flood", "David Maine"), ("The Meat Eaters", "Michael Collins"),
      ("Harbor", "Lorraine Adams"), ("Amsterdam", "Ian McEwan"),
      ("Weight of Numbers", "Simon Ings"), ("On Chesil Beach", "Ian McEwan"),
      ("The God Delusion", "Richard Dawkins"),
    ],
    "shelf-13": [
      ("31 Songs", "Nick Hornby"), ("The Brief Wondrous Life of Oscar Wao", "Junot Díaz"),
      ("The Robots of Dawn", "Isaac Asimov"), ("Have I Got Views for You", "Boris Johnson"),
      ("Moondust", "Andrew Smith"),
    ],
  ]

  @Test(
    .enabled(if: hasTools, "tesseract, zbarimg or gm is not installed"),
    .enabled(
      if: FileManager.default.fileExists(atPath: data.appending(path: "shelves").path),
      "there is no ../shared/data/shelves"),
    .enabled(if: Rehearsal.isLong, "a long rehearsal; short ones read drawn shelves"))
  func `real shelves are recognized among ten thousand other books`() async throws {
    let known = try Catalogue(contentsOf: Self.data.appending(path: "books.csv").path).books
    let standing = Self.shelves.values.joined().map {
      CatalogueBook(
        title: $0.title, originalTitle: nil, authors: [$0.author], isbn: nil, coverURL: nil)
    }
    // What would not be reported is looked at too: it must be wrong more often.
    let matcher = Matcher(Catalogue(known + standing), leastConfidence: 0.25)
    let titles = Self.shelves.mapValues { $0.map(\.title) }
    let score = try await score(titles, matcher) {
      Self.data.appending(path: "shelves/\($0).jpg")
    }
    print("real shelves: \(score.summary)")
    #expect(score.foundPart >= 0.6)
    #expect(score.rightPart >= 0.9)
    #expect(score.rightAbove > score.rightBelow)
  }

  @Test(.enabled(if: hasTools, "tesseract, zbarimg or gm is not installed"))
  func `the drawn shelves are recognized, the barcode included`() async throws {
    let catalogue = Self.examples.appending(path: "Library/catalogue.csv").path
    let titles = [
      "shelf-a": [
        "The Amber Granary", "An Inland Viaduct", "Notes from the Patient Sextant",
        "Jagged Almanac",
      ],
      "shelf-b": [
        "What the Lantern Knew", "A Rusted Sextant", "Kiln and Causeway", "Letters to a Jetty",
      ],
      "shelf-c": ["A Narrow Inkwell", "The Velvet Ferryman", "Letters to an Estuary"],
    ]
    let matcher = Matcher(try Catalogue(contentsOf: catalogue))
    let score = try await score(titles, matcher) {
      Self.examples.appending(path: "Scan/Photos/\($0).jpg")
    }
    print("drawn shelves: \(score.summary)")
    #expect(score.foundPart >= 0.6)
    #expect(score.rightPart >= 0.9)
    #expect(score.reported.contains { $0.confidence == 0.99 && $0.isRight })
  }

  /// Reads the shelves two at a time.
  private func score(
    _ shelves: [String: [String]], _ matcher: Matcher, _ photo: @Sendable @escaping (String) -> URL
  ) async throws -> Score {
    let names = shelves.keys.sorted()
    let reader = PhotoReader(matcher: matcher)
    let halves = try await withThrowingTaskGroup(of: [(String, Finding)].self) { group in
      for half in 0..<2 {
        group.addTask {
          try stride(from: half, to: names.count, by: 2).flatMap { index in
            var findings: [(String, Finding)] = []
            try reader.read([UInt8](Data(contentsOf: photo(names[index])))) {
              findings.append((names[index], $0))
            }
            return findings
          }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    var score = Score(standing: shelves.values.reduce(0) { $0 + $1.count })
    for (name, finding) in halves {
      let isRight = (shelves[name] ?? []).contains { Self.same(finding.book, as: $0) }
      score.candidates.append((finding.book.title, finding.confidence, isRight))
    }
    return score
  }

  /// Whether a book of the catalogue has the title, with or without a series and a subtitle.
  private static func same(_ book: CatalogueBook, as title: String) -> Bool {
    let whole = book.title.components(separatedBy: " (")[0]
    return [whole, whole.components(separatedBy: ":")[0]].contains {
      words(of: $0) == words(of: title)
    }
  }
}

private struct Score {
  var standing: Int
  var candidates: [(title: String, confidence: Double, isRight: Bool)] = []

  /// From the confidence on from which the service tells a book.
  var reported: [(title: String, confidence: Double, isRight: Bool)] {
    candidates.filter { $0.confidence >= 0.4 }
  }
  var foundPart: Double { Double(reported.count(where: \.isRight)) / Double(standing) }
  var rightPart: Double { Self.right(reported) }
  var rightAbove: Double { Self.right(candidates.filter { $0.confidence >= 0.8 }) }
  var rightBelow: Double { Self.right(candidates.filter { $0.confidence < 0.8 }) }

  private static func right(
    _ some: [(title: String, confidence: Double, isRight: Bool)]
  ) -> Double {
    Double(some.count(where: \.isRight)) / Double(max(1, some.count))
  }

  var summary: String {
    let wrong = candidates.filter { !$0.isRight }.map { "\($0.title) \($0.confidence)" }
    return """
      \(reported.count(where: \.isRight)) of \(standing) found, \
      \(reported.count(where: \.isRight)) of \(reported.count) reported are right; \
      from 0.8 on \(rightAbove) are right, of all below \(rightBelow); wrong: \(wrong)
      """
  }
}
