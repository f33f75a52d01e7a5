import ExampleService
import Foundation
import GRDB

/// A catalogue in the columns of goodbooks-10k's `books.csv`.
struct Catalogue {
  let books: [Book]

  init(contentsOf path: String) throws {
    var records = try Self.records(ofFile: path)
    guard !records.isEmpty else { throw Usage("\(path) is empty") }
    let columns = Dictionary(
      records.removeFirst().fields.enumerated().map { ($1, $0) },
      uniquingKeysWith: { first, _ in first })
    books = try records.map { record in
      func field(_ name: String) -> String? {
        guard let column = columns[name], column < record.fields.count else { return nil }
        return record.fields[column].isEmpty ? nil : record.fields[column]
      }
      guard let key = field("isbn") ?? field("book_id").map({ "book:\($0)" }) else {
        throw Usage("\(path): line \(record.line): a book with neither isbn nor book_id")
      }
      return Book(
        isbn: key, isbn13: field("isbn13"), authors: field("authors") ?? "",
        // Some catalogues write 2005.0.
        year: field("original_publication_year").flatMap(Double.init)
          .flatMap { Int(exactly: $0.rounded(.towardZero)) },
        title: field("title") ?? "", language: field("language_code"),
        averageRating: field("average_rating").flatMap(Double.init), imageURL: field("image_url"))
    }
  }

  private static func records(ofFile path: String) throws -> [CSVReader.Record] {
    do {
      return try CSVReader.records([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
    } catch {
      throw Refusal("\(path): \(error.systemReason)")
    }
  }

  private init(books: [Book]) {
    self.books = books
  }

  /// The first so many books, or all of them.
  func first(_ count: Int?) -> Catalogue {
    Catalogue(books: count.map { Array(books.prefix($0)) } ?? books)
  }

  /// Books that are here already stay as they are, so an import that was killed is started again.
  ///
  /// - Parameter progress: called after each commit: how many books of the catalogue are in.
  func insert(
    into database: any DatabaseWriter, batch: Int, progress: (_ done: Int) -> Void
  ) async throws {
    for start in stride(from: 0, to: books.count, by: batch) {
      let end = min(start + batch, books.count)
      let part = Array(books[start..<end])
      try await database.write { db in
        for book in part { try book.insert(db, onConflict: .ignore) }
      }
      progress(end)
    }
  }
}
