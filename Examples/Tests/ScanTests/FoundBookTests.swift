import ExampleProcesses
import Foundation
import GRDB
import Tern
import TernNetwork
import Testing

@testable import scan

@Suite("Books as the service reports them")
struct FoundBookTests {
  private func inLibrary(_ body: @Sendable (Database) throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "scan-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "scan.sqlite").path
    let database = try await ScanDatabase.open(path)
    try await database.pool.writeWithoutTransaction { db in
      try body(db)
    }
  }

  private func book(_ title: String, _ confidence: Double, _ cover: String? = nil) -> FoundBook {
    FoundBook(
      title: title, isbn: "9780441172719", coverUrl: cover,
      enrichmentStatus: cover == nil ? "pending" : "success", confidence: confidence)
  }

  @Test func `a book that comes again in one scan brings news, and is counted once`() async throws {
    try await inLibrary { db in
      try book("Dune", 0.6).record(for: 1, in: db)
      try book("Dune", 0.9, "https://covers/dune").record(for: 1, in: db)
      let row = try #require(try Book.fetchOne(db))
      #expect(row.timesScanned == 1)
      #expect(row.confidence == 0.9)
      #expect(row.coverURL == "https://covers/dune")
      #expect(row.enrichment == "success")
    }
  }

  @Test func `the surer scan gives the title, until a person has looked`() async throws {
    try await inLibrary { db in
      try book("Dime", 0.4).record(for: 1, in: db)
      try book("Dune", 0.9).record(for: 2, in: db)
      #expect(try Book.fetchOne(db)?.title == "Dune")
      try db.execute(sql: "UPDATE book SET title = 'Dune!', isReviewed = TRUE")
      try book("Dune", 1).record(for: 3, in: db)
      let row = try #require(try Book.fetchOne(db))
      #expect(row.title == "Dune!")
      #expect(row.timesScanned == 3)
    }
  }

  @Test func `a book that a person has taken out stays out when its event comes again`()
    async throws
  {
    try await inLibrary { db in
      try book("Dune", 0.9).record(for: 1, in: db)
      try db.execute(sql: "DELETE FROM book")
      try book("Dune", 0.9).record(for: 1, in: db)
      #expect(try Book.fetchCount(db) == 0)
      try book("Dune", 0.9).record(for: 2, in: db)
      #expect(try Book.fetchOne(db)?.timesScanned == 1)
    }
  }

  @Test func `a book is found by its words after a VACUUM has numbered the rows anew`() async throws
  {
    try await inLibrary { db in
      for (isbn, title) in [("1", "Dune"), ("2", "Emma"), ("3", "Kim")] {
        try Book(isbn: isbn, title: title).insert(db)
      }
      try db.execute(sql: "UPDATE book SET title = 'Emma, again' WHERE isbn = '2'")
      try db.execute(sql: "DELETE FROM book WHERE isbn = '1'")
      try db.execute(sql: "VACUUM")
      try db.execute(sql: "UPDATE book SET title = 'Kim, again' WHERE isbn = '3'")
      let sql = "SELECT isbn FROM bookText WHERE bookText MATCH ? ORDER BY isbn"
      #expect(try String.fetchAll(db, sql: sql, arguments: ["again"]) == ["2", "3"])
      #expect(try String.fetchAll(db, sql: sql, arguments: ["dune"]) == [])
      #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM bookText") == 2)
      #expect(try found("again", in: db) == ["2", "3"])
      #expect(try found("em ag", in: db) == ["2"])
    }
  }

  @Test(arguments: ["page", "search"])
  func `books of a file from before are found, and those that are changed then`(
    _ last: String
  ) throws {
    let file = try DatabaseQueue()
    try ScanDatabase.migrator.migrate(file, upTo: last)
    try file.write { db in
      for (isbn, title) in [("9", "Dune"), ("8", "Emma"), ("7", "Kim")] {
        try Book(isbn: isbn, title: title).insert(db)
      }
    }
    try ScanDatabase.migrator.migrate(file)
    try file.write { db in
      #expect(try found("dune", in: db) == ["9"])
      try db.execute(sql: "UPDATE book SET isbn = '6', title = 'Emma, again' WHERE isbn = '8'")
      try db.execute(sql: "DELETE FROM book WHERE isbn = '9'")
      #expect(try found("again", in: db) == ["6"])
      #expect(try found("dune", in: db) == [])
      try db.execute(sql: "REPLACE INTO book (isbn, title) VALUES ('7', 'Kim, again')")
      try db.execute(sql: "DELETE FROM book WHERE isbn = '7'")
      try Book(isbn: "5", title: "King Lear").insert(db)
      #expect(try BooksDocument(["text": "k"], in: db).count == 1)
    }
  }

  @Test func `few books and many are found in the order that is wanted, and counted`() async throws
  {
    try await inLibrary { db in
      // More than 200 have "song" and are searched otherwise than the rest.
      for number in 0..<400 {
        let title = number % 4 == 0 ? "Quiet \(number)" : "Songs \(number)"
        try Book(
          isbn: "\(1000 + number)", title: title, confidence: number % 2 == 0 ? 0.5 : 0.9,
          addedMilliseconds: Int64(number)
        ).insert(db)
      }
      for (word, isFound) in [
        ("so", { $0 % 4 != 0 }), ("quiet", { $0 % 4 == 0 }), ("399", { $0 == 399 }),
      ] as [(String, (Int) -> Bool)] {
        for review in [false, true] {
          let wanted = (0..<400).reversed()
            .filter { isFound($0) && (!review || $0 % 2 == 0) }.map { "\(1000 + $0)" }
          var query = ["text": word, "limit": "10"]
          if review { query["review"] = "yes" }
          let document = try BooksDocument(query, in: db)
          #expect(document.count == wanted.count)
          #expect(document.books.map(\.isbn) == Array(wanted.prefix(10)))
        }
      }
    }
  }

  @Test(arguments: [
    ("é", ["1"]), ("ÉTÉ", ["1"]), ("l'été", ["1"]), ("l été AND", []), ("or", ["2"]),
    ("OR not", ["2"]), ("title:or", []), ("\"\u{301}", []), ("é\"\u{301}", ["1"]), ("—", []),
    ("*", []), ("\0", []), ("7 ways", ["3"]), ("3", ["3"]), ("", ["1", "2", "3"]),
  ])
  func `a search takes any text`(_ text: String, _ isbns: [String]) async throws {
    try await inLibrary { db in
      try Book(isbn: "1", title: "L'été").insert(db)
      try Book(isbn: "2", title: "Or NOT").insert(db)
      try Book(isbn: "3", title: "7 ways").insert(db)
      #expect(try found(text, in: db).sorted() == isbns)
    }
  }

  private func found(_ text: String, in db: Database) throws -> [String] {
    try BooksDocument(["text": text, "order": "title"], in: db).books.map(\.isbn)
  }

  @Test(arguments: [
    ("0-306-40615-2", "9780306406157"), ("978-0-306-40615-7", "9780306406157"),
    ("080442957X", "9780804429573"), ("none", "title:dune-no-2"), (nil, "title:dune-no-2"),
    // Dashes, words and spaces of any kind; another country's number; what is no whole number.
    ("ISBN 978–0–306–40615–7", "9780306406157"), ("isbn: 0 8044 2957 x", "9780804429573"),
    ("4006381333931", "4006381333931"), ("0", "title:dune-no-2"), ("2024", "title:dune-no-2"),
    ("", "title:dune-no-2"), ("978030640615X", "title:dune-no-2"), ("X", "title:dune-no-2"),
    ("97803064061570", "title:dune-no-2"), ("030640X152", "title:dune-no-2"),
  ])
  func `a book's key is its long number, or its title`(_ isbn: String?, _ key: String) {
    #expect(FoundBook(title: "Dune, no. 2!", isbn: isbn).key == key)
  }

  @Test func `a stream at another origin is refused before anything is sent there`() async throws {
    let service = Talaria(try #require(URL(string: "http://127.0.0.1:1")), deviceID: "d")
    let ticket = Talaria.Ticket(jobID: "1", streamURL: "http://127.0.0.1:2/s", token: "secret")
    let error = await #expect(throws: HTTPError.self) {
      try await service.events(ticket, after: nil, within: .seconds(1))
    }
    #expect(error?.code == .otherOrigin)
  }

  @Test(arguments: [
    #"{"data":{"progress":"100%","results":[{"title":"Dune"},{"title":7}]},"success":true}"#,
    #"{"data":{"status":"complete","message":{},"totalCount":"1","books":[{"title":"Dune"},0]}}"#,
  ])
  func `results are read whatever else stands beside them`(_ text: String) throws {
    let answer = try JSONDecoder().decode(Talaria.Answered.self, from: Data(text.utf8)).data
    let books = try #require(answer.results ?? answer.books).elements
    #expect(books.map { $0?.title } == ["Dune", nil])
  }
}
