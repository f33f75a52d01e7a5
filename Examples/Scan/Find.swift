import ExampleService
import Foundation
import GRDB
import RecognizerKit

/// A book as the service reports it, in any of its forms.
struct FoundBook: Codable, Sendable {
  var title: String
  var author, isbn, coverUrl, format, enrichmentStatus: String?
  var confidence: Double?

  /// The ISBN's 13 digits, whichever form came, or else title and author: one book is one row.
  var key: String {
    if let isbn = isbn.flatMap({ ISBN(digitsOf: $0) }) { return isbn.thirteen }
    let words = "\(title) \(author ?? "")".lowercased().split { !$0.isLetter && !$0.isNumber }
    return "title:" + words.joined(separator: "-")
  }

  /// Puts the book into the library, once for each scan that saw it.
  func record(for scan: Int64, in db: Database) throws {
    try db.execute(sql: "INSERT OR IGNORE INTO find VALUES (?, ?)", arguments: [scan, key])
    let isNew = db.changesCount > 0
    let known = try Book.fetchOne(db, key: key)
    // One that a person has taken out meanwhile stays out.
    guard isNew || known != nil else { return }
    var book = known ?? Book(isbn: key)
    let sureness = min(max(confidence ?? 0, 0), 1)
    // What was surer gives the title, unless a person has looked at it.
    if known == nil || (sureness > book.confidence && !book.isReviewed) {
      book.title = title
      book.author = author ?? book.author
    }
    book.coverURL = coverUrl ?? book.coverURL
    book.format = format ?? book.format
    book.enrichment = enrichmentStatus ?? book.enrichment
    book.confidence = max(book.confidence, sureness)
    if isNew { book.timesScanned += 1 }
    if known == nil { book.addedMilliseconds = Int64(Date().timeIntervalSince1970 * 1000) }
    try book.save(db)
  }
}

extension FoundBook {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    func member(_ name: String) throws -> LooseText? {
      try members.decodeIfPresent(LooseText.self, forKey: Key(stringValue: name))
    }
    title = try members.decode(String.self, forKey: Key(stringValue: "title"))
    author = try member("author")?.text ?? member("authors")?.text
    let number = try member("isbn")
    // A number has lost the zeros in front.
    isbn = number?.text.map { text in
      number?.isNumber == true && text.count < 10
        ? String(repeating: "0", count: 10 - text.count) + text : text
    }
    coverUrl = try member("coverUrl")?.text
    format = try member("format")?.text
    enrichmentStatus = try member("enrichmentStatus")?.text
    confidence = try member("confidence")?.text.flatMap(Double.init)
  }
}
