import ExampleService
import Foundation
import GRDB
import RecognizerKit
import Tern

/// Books as comma-separated values.
enum BookTable {
  private static let columns = [
    "isbn", "title", "author", "format", "confidence", "timesScanned", "isReviewed", "coverURL",
    "enrichment", "addedMilliseconds",
  ]

  static func text(_ books: [Book]) -> String {
    let records = books.map { book in
      [
        book.isbn, book.title, book.author ?? "", book.format ?? "", "\(book.confidence)",
        "\(book.timesScanned)", "\(book.isReviewed)", book.coverURL ?? "", book.enrichment ?? "",
        "\(book.addedMilliseconds)",
      ]
    }
    return CSVWriter.text([columns] + records)
  }

  /// - Throws: ``CatalogueError``, with the line that is no book.
  static func books(_ bytes: [UInt8]) throws -> [Book] {
    let records = try CSVReader.records(bytes)
    let names = records.first?.fields ?? []
    guard names.contains("isbn"), names.contains("title") else {
      throw CatalogueError(line: 1, reason: "the columns isbn and title are needed")
    }
    return try records.dropFirst().map { record in
      let fields = record.fields.map(CSVReader.unguarded)
      let values = Dictionary(zip(names, fields), uniquingKeysWith: { $1 })
        .filter { !$1.isEmpty }
      let found = FoundBook(
        title: values["title"] ?? "", author: values["author"], isbn: values["isbn"])
      let confidence = Double(values["confidence"] ?? "0") ?? -1
      let times = Int(values["timesScanned"] ?? "0") ?? -1
      guard !found.title.isEmpty, 0...1 ~= confidence, 0...1_000_000 ~= times else {
        throw CatalogueError(
          line: record.line, reason: "a book has a title, a confidence from 0 to 1 and a count")
      }
      // The key of a book without an ISBN stays, whatever its title is by now.
      let key = found.isbn.flatMap { $0.hasPrefix("title:") ? $0 : nil } ?? found.key
      return Book(
        isbn: key, title: found.title, author: found.author, coverURL: values["coverURL"],
        format: values["format"], enrichment: values["enrichment"], confidence: confidence,
        timesScanned: times, isReviewed: values["isReviewed"] == "true",
        addedMilliseconds: values["addedMilliseconds"].flatMap { Int64($0) } ?? 0)
    }
  }
}

extension ScanDatabase {
  /// Adds books that are not there.
  func add(_ books: [Book]) async throws -> (added: Int, known: Int) {
    try await pool.write { db in
      var added = 0
      for book in books where try !book.exists(db) {
        try book.insert(db)
        added += 1
      }
      return (added, books.count - added)
    }
  }

  /// What a person has put right needs no review.
  func edit(_ isbn: String, title: String? = nil, author: String? = nil, format: String? = nil)
    async throws
  {
    if let title, title.isEmpty { throw Refusal("a book needs a title") }
    try await change(
      isbn,
      """
      UPDATE book SET title = coalesce(?, title), author = coalesce(?, author),
        format = coalesce(?, format), isReviewed = TRUE
      """, [title, author, format])
  }

  func change(_ isbn: String, _ sql: String, _ arguments: StatementArguments = []) async throws {
    let count = try await pool.write { db in
      try db.execute(sql: sql + " WHERE isbn = ?", arguments: arguments + [isbn])
      return db.changesCount
    }
    guard count > 0 else {
      throw Refusal("there is no book \(isbn.shown()); `scan library` lists them")
    }
  }
}
