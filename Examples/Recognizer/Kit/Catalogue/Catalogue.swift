import ExampleService
import Foundation

/// A book that may be recognized.
public struct CatalogueBook: Hashable, Sendable {
  public var title: String
  /// The title that an older edition may have on its spine.
  public var originalTitle: String?
  public var authors: [String]
  /// 10 or 13 digits.
  public var isbn: String?
  public var coverURL: String?
}

/// The books that the service knows, in the columns of goodbooks-10k's `books.csv`.
public struct Catalogue: Sendable {
  public let books: [CatalogueBook]
  private let byISBN: [String: Int]

  public init(contentsOf path: String) throws {
    try self.init([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
  }

  /// - Throws: ``CatalogueError`` with the line that can't be a book.
  public init(_ bytes: [UInt8]) throws(CatalogueError) {
    var records = try CSVReader.records(bytes)
    guard !records.isEmpty else { throw CatalogueError(line: 1, reason: "the file is empty") }
    let header = records.removeFirst()
    let columns = Dictionary(
      header.fields.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for name in ["title", "authors", "isbn"] where columns[name] == nil {
      throw CatalogueError(line: 1, reason: "there is no column '\(name)'")
    }
    var books: [CatalogueBook] = []
    for record in records {
      guard record.fields.count == header.fields.count else {
        throw CatalogueError(
          line: record.line,
          reason: "\(record.fields.count) fields, where the first line has \(header.fields.count)")
      }
      func field(_ name: String) -> String? {
        columns[name].map { record.fields[$0] }.flatMap { $0.isEmpty ? nil : $0 }
      }
      guard let title = field("title") else {
        throw CatalogueError(line: record.line, reason: "a book without a title")
      }
      let authors = (field("authors") ?? "").split(separator: ",")
        .map { $0.trimmingCharacters(in: .whitespaces) }
      books.append(
        CatalogueBook(
          title: title, originalTitle: field("original_title"), authors: authors,
          isbn: ["isbn", "isbn13"].lazy.compactMap { field($0).flatMap { ISBN($0) } }.first?.text,
          coverURL: field("image_url")))
    }
    self.init(books)
  }

  public init(_ books: [CatalogueBook]) {
    self.books = books
    byISBN = Dictionary(
      books.enumerated().compactMap { index, book in
        book.isbn.flatMap { ISBN($0) }.map { ($0.thirteen, index) }
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The position of the book that a barcode names.
  func index(of isbn: ISBN) -> Int? { byISBN[isbn.thirteen] }
}
