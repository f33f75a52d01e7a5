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
      guard let found = Book.pattern(matching: text)
      else { throw Refusal("name a word to search for") }
      books = """
        SELECT book.* FROM bookText JOIN book USING (isbn)
        WHERE bookText MATCH \(found) ORDER BY rank, book.title
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
    for isbn in isbns { try await file.open().edit(isbn) }
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
    try await file.open().edit(isbn, title: title, author: author)
  }
}

struct Delete: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Take a book out of the library.")

  @OptionGroup var file: DataFile
  @Argument var isbn: String

  func run() async throws { try await file.open().change(isbn, "DELETE FROM book") }
}

struct Export: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Write the books to a CSV file.")

  @OptionGroup var file: DataFile
  @Argument(help: "The file; what one that is there holds is replaced.") var csv: String

  func run() async throws {
    let books = try await file.books(Book.order(Column("isbn")))
    try OutputFile.write(BookTable.text(books), to: csv)
    say("\(books.count) books in \(csv)")
  }
}

struct Import: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add the books of a CSV file, as `export` writes it; those that are there stay.")

  @OptionGroup var file: DataFile
  @Argument var csv: String

  func run() async throws {
    guard let bytes = FileManager.default.contents(atPath: csv)
    else { throw Refusal("\(csv.shown()) can't be read; name a CSV file") }
    let (added, known) = try await file.open().add(BookTable.books([UInt8](bytes)))
    say("\(added) books added; \(known) were there")
  }
}

extension DataFile {
  fileprivate func books(_ request: some FetchRequest<Book> & Sendable) async throws -> [Book] {
    try await open().pool.read { try request.fetchAll($0) }
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
