import Foundation
import GRDB

/// A book as the service reports it, in any of its forms.
struct FoundBook: Codable, Sendable {
  var title: String
  var author: String?
  var isbn: String?
  var coverUrl: String?
  var format: String?
  var confidence: Double?
  var enrichmentStatus: String?

  /// The ISBN with 13 digits, whichever form came, so that one book is one row; for a book
  /// without one its title and author.
  var key: String {
    let digits = (isbn ?? "").uppercased().filter { $0.isNumber || $0 == "X" }
    switch digits.count {
    case 13: return digits
    case 10: return Self.isbn13(digits)
    default:
      let words = "\(title) \(author ?? "")".lowercased().split { !$0.isLetter && !$0.isNumber }
      return "title:" + words.joined(separator: "-")
    }
  }

  /// - Source: ISO 2108, the check digit of an ISBN with the prefix 978.
  private static func isbn13(_ isbn10: String) -> String {
    let digits = "978" + isbn10.dropLast()
    let sum = digits.enumerated().reduce(0) { sum, digit in
      sum + (digit.element.wholeNumberValue ?? 0) * (digit.offset.isMultiple(of: 2) ? 1 : 3)
    }
    return digits + String((10 - sum % 10) % 10)
  }

  /// Puts the book into the library, once for each scan that saw it.
  func record(for scan: String, in db: Database) throws {
    try db.execute(sql: "INSERT OR IGNORE INTO find VALUES (?, ?)", arguments: [scan, key])
    let isNew = db.changesCount > 0
    // One that a person has taken out meanwhile stays out.
    if !isNew, try Book.fetchOne(db, key: key) == nil { return }
    // What was surer gives the title, unless a person has looked at it.
    try db.execute(
      sql: """
        INSERT INTO book (isbn, title, author, coverURL, format, enrichment, confidence,
          timesScanned)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (isbn) DO UPDATE SET
          title = iif(excluded.confidence > confidence AND NOT isReviewed, excluded.title, title),
          author = iif(excluded.confidence > confidence AND NOT isReviewed,
            coalesce(excluded.author, author), author),
          coverURL = coalesce(excluded.coverURL, coverURL),
          format = coalesce(excluded.format, format),
          enrichment = coalesce(excluded.enrichment, enrichment),
          confidence = max(confidence, excluded.confidence),
          timesScanned = timesScanned + excluded.timesScanned
        """,
      arguments: [
        key, title, author, coverUrl, format, enrichmentStatus,
        min(max(confidence ?? 0, 0), 1), isNew ? 1 : 0,
      ])
  }
}

/// A list of books in which one that can't be read spoils none of the others.
struct FoundBooks: Decodable, Sendable {
  var books: [FoundBook] = []
  var unreadable = 0

  init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd {
      if let book = try list.decode(Entry.self).book { books.append(book) } else { unreadable += 1 }
    }
  }

  private struct Entry: Decodable {
    let book: FoundBook?

    init(from decoder: any Decoder) { book = try? FoundBook(from: decoder) }
  }
}
