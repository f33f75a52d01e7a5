import Foundation
import GRDB

/// A catalogue in the columns of goodbooks-10k's `books.csv`.
struct Catalogue {
  let books: [Book]

  init(contentsOf path: String) throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    var records = Self.records([UInt8](bytes))
    guard !records.isEmpty else { throw Usage("\(path) is empty") }
    let columns = Dictionary(
      records.removeFirst().enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    books = try records.enumerated().map { index, record in
      func field(_ name: String) -> String? {
        guard let column = columns[name], column < record.count else { return nil }
        return record[column].isEmpty ? nil : record[column]
      }
      guard let key = field("isbn") ?? field("book_id").map({ "book:\($0)" }) else {
        throw Usage("\(path): record \(index + 1) has neither isbn nor book_id")
      }
      return Book(
        isbn: key, isbn13: field("isbn13"), authors: field("authors") ?? "",
        year: field("original_publication_year").flatMap(Double.init).map { Int($0) },
        title: field("title") ?? "", language: field("language_code"),
        averageRating: field("average_rating").flatMap(Double.init), imageURL: field("image_url"))
    }
  }

  private init(books: [Book]) {
    self.books = books
  }

  /// The first so many books, or all of them.
  func first(_ count: Int?) -> Catalogue {
    Catalogue(books: count.map { Array(books.prefix($0)) } ?? books)
  }

  /// - Source: RFC 4180.
  private static func records(_ bytes: [UInt8]) -> [[String]] {
    var (records, record, field) = ([[String]](), [String](), [UInt8]())
    var isQuoted = false
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "\""):
        isQuoted.toggle()
        // A doubled quote closes and opens again, and stands for itself.
        if isQuoted, index > 0, bytes[index - 1] == byte { field.append(byte) }
      case UInt8(ascii: ",") where !isQuoted:
        record.append(String(decoding: field, as: UTF8.self))
        field.removeAll(keepingCapacity: true)
      case UInt8(ascii: "\r") where !isQuoted: break
      case UInt8(ascii: "\n") where !isQuoted:
        record.append(String(decoding: field, as: UTF8.self))
        if record != [""] { records.append(record) }
        record.removeAll()
        field.removeAll(keepingCapacity: true)
      default: field.append(byte)
      }
    }
    if !field.isEmpty || !record.isEmpty {
      records.append(record + [String(decoding: field, as: UTF8.self)])
    }
    return records
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
