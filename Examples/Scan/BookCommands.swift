import ArgumentParser
import ExampleService
import Foundation
import GRDB
import RecognizerKit
import Tern

struct Library: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The books; with words, those that have them in title, author or ISBN.",
    aliases: ["search"])

  @OptionGroup var file: DataFile
  @Argument(help: "Beginnings of words.") var text: String?

  func run() async throws {
    var books: SQLRequest<Book> = "SELECT * FROM book ORDER BY title, isbn"
    if let text {
      guard let words = FTS5Pattern(matchingAllPrefixesIn: text)
      else { throw Refusal("name a word to search for") }
      // The key of a book without an ISBN has words in it, of which "title" is none of the book's.
      let columns = text.contains(where: \.isLetter) ? "title author" : "isbn title author"
      books = """
        SELECT book.* FROM bookText JOIN book USING (isbn)
        WHERE bookText MATCH \("{\(columns)} : (\(words.rawPattern))") ORDER BY rank, book.title
        """
    }
    for book in try await file.books(books) { say(book.line) }
  }
}

struct Review: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The books at which a person should look; with ISBNs, says that those are right.")

  @OptionGroup var file: DataFile
  @Argument(help: "Books that are right as they stand.") var isbns: [String] = []

  func run() async throws {
    for isbn in isbns { try await file.change(isbn, "UPDATE book SET isReviewed = TRUE") }
    for book in try await file.books(Book.order(Column("confidence"))) where book.needsReview {
      say(book.line)
    }
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
    try await file.change(
      isbn,
      "UPDATE book SET title = coalesce(?, title), author = coalesce(?, author), isReviewed = TRUE",
      [title, author])
  }
}

struct Delete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Take a book out of the library.")

  @OptionGroup var file: DataFile
  @Argument var isbn: String

  func run() async throws { try await file.change(isbn, "DELETE FROM book") }
}

struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Write the books to a CSV file.")

  @OptionGroup var file: DataFile
  @Argument(help: "The file; what one that is there holds is replaced.") var csv: String

  func run() async throws {
    let books = try await file.books(Book.order(Column("isbn")))
    let columns = ["isbn", "title", "author", "format", "confidence", "timesScanned", "isReviewed"]
    let records = books.map { book in
      [
        book.isbn, book.title, book.author ?? "", book.format ?? "", "\(book.confidence)",
        "\(book.timesScanned)", "\(book.isReviewed)",
      ]
    }
    try OutputFile.write(CSVWriter.text([columns] + records), to: csv)
    say("\(books.count) books in \(csv)")
  }
}

extension DataFile {
  fileprivate func books(_ request: some FetchRequest<Book> & Sendable) async throws -> [Book] {
    try await open().pool.read { try request.fetchAll($0) }
  }

  fileprivate func change(
    _ isbn: String, _ sql: String, _ arguments: StatementArguments = []
  ) async throws {
    let count = try await open().pool.write { db in
      try db.execute(sql: sql + " WHERE isbn = ?", arguments: arguments + [isbn])
      return db.changesCount
    }
    guard count > 0 else { throw Refusal("there is no book \(isbn); `scan library` lists them") }
  }
}

extension Book {
  fileprivate var line: String {
    let sure = confidence.formatted(.percent.precision(.fractionLength(0)))
    return [isbn, title, author ?? "", sure, "×\(timesScanned)"]
      .map { $0.shown() }.joined(separator: "\t")
      + (needsReview ? "\treview" : "")
  }
}
