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

  /// What services write as one type or another: confidence as a text, an ISBN as a number, authors as
  /// a list.
  private struct Loose: Decodable {
    var text: String?
    var isNumber = false

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      // To try is the only way to ask for the type.
      if let said = try? value.decode(String.self) {
        text = said
      } else if let number = try? value.decode(Int64.self) {
        (text, isNumber) = ("\(number)", true)
      } else if let number = try? value.decode(Double.self) {
        (text, isNumber) = ("\(number)", true)
      } else if let list = try? value.decode([Loose].self) {
        text = list.compactMap(\.text).joined(separator: ", ")
      } else if let members = try? value.decode([String: Loose].self) {
        text = members["name"]?.text
      }
    }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    func member(_ name: String) throws -> Loose? {
      try members.decodeIfPresent(Loose.self, forKey: Key(stringValue: name))
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
