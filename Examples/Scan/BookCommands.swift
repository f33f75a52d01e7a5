#if Server
import ArgumentParser
import Foundation
import GRDB
import Tern

struct Library: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The books.")

  @OptionGroup var file: DataFile

  func run() async throws {
    let books = try await file.open().pool.read { db in
      try Book.order(Column("title"), Column("isbn")).fetchAll(db)
    }
    for book in books { say(book.line) }
  }
}

struct Search: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Books by words of title or author.")

  @OptionGroup var file: DataFile
  @Argument var text: String

  func run() async throws {
    guard let pattern = FTS5Pattern(matchingAllPrefixesIn: text) else {
      throw Refusal("name a word to search for")
    }
    let books = try await file.open().pool.read { db in
      try Book.fetchAll(
        db,
        sql: """
          SELECT book.* FROM book JOIN bookText ON bookText.rowid = book.rowid
          WHERE bookText MATCH ? ORDER BY rank, isbn
          """, arguments: [pattern])
    }
    for book in books { say(book.line) }
  }
}

struct Review: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The books at which a person should look; with ISBNs, says that those are right.")

  @OptionGroup var file: DataFile
  @Argument(help: "Books that are right as they stand.") var isbns: [String] = []

  func run() async throws {
    let database = try await file.open()
    for isbn in isbns {
      try await database.change(isbn, "UPDATE book SET isReviewed = TRUE WHERE isbn = ?", [isbn])
    }
    let books = try await database.pool.read { try Book.order(Column("confidence")).fetchAll($0) }
    for book in books where book.needsReview { say(book.line) }
  }
}

struct Edit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Put a book right.")

  @OptionGroup var file: DataFile
  @Argument var isbn: String
  @Option var title: String?
  @Option var author: String?

  func run() async throws {
    guard title != nil || author != nil else { throw Refusal("name a --title or an --author") }
    try await file.open().change(
      isbn,
      """
      UPDATE book SET title = coalesce(?, title), author = coalesce(?, author), isReviewed = TRUE
      WHERE isbn = ?
      """, [title, author, isbn])
  }
}

struct Delete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Take a book out of the library.")

  @OptionGroup var file: DataFile
  @Argument var isbn: String

  func run() async throws {
    try await file.open().change(isbn, "DELETE FROM book WHERE isbn = ?", [isbn])
  }
}

struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Write the books to a CSV file.")

  @OptionGroup var file: DataFile
  @Argument(help: "The file; one that is there is replaced.") var csv: String

  func run() async throws {
    let books = try await file.open().pool.read { try Book.order(Column("isbn")).fetchAll($0) }
    var text = "isbn,title,author,format,confidence,timesScanned,isReviewed\r\n"
    for book in books {
      let fields = [
        book.isbn, book.title, book.author ?? "", book.format ?? "", "\(book.confidence)",
        "\(book.timesScanned)", "\(book.isReviewed)",
      ]
      text += fields.map(Self.quoted).joined(separator: ",") + "\r\n"
    }
    try Data(text.utf8).write(to: URL(filePath: csv), options: .atomic)
    say("\(books.count) books in \(csv)")
  }

  /// - Source: RFC 4180.
  private static func quoted(_ field: String) -> String {
    guard field.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else {
      return field
    }
    return "\"" + field.replacing("\"", with: "\"\"") + "\""
  }
}

extension ScanDatabase {
  fileprivate func change(
    _ isbn: String, _ sql: String, _ arguments: StatementArguments
  ) async throws {
    let count = try await pool.write { db in
      try db.execute(sql: sql, arguments: arguments)
      return db.changesCount
    }
    guard count > 0 else { throw Refusal("there is no book \(isbn); `scan library` lists them") }
  }
}

extension Book {
  fileprivate var line: String {
    let sure = confidence.formatted(.percent.precision(.fractionLength(0)))
    return [isbn, title, author ?? "", sure, "×\(timesScanned)"].joined(separator: "\t")
      + (needsReview ? "\treview" : "")
  }
}
#endif
