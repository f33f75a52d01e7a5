import Foundation
import GRDB
import Tern
import TernTesting
import TestDevice
import Testing

private struct Book: Codable, Hashable, FetchableRecord, PersistableRecord {
  enum Columns {
    static let isbn = Column(CodingKeys.isbn)
    static let title = Column(CodingKeys.title)
    static let scans = Column(CodingKeys.scans)
    static let blurb = Column(CodingKeys.blurb)
    static let place = Column(CodingKeys.place)
    static let shelf = Column(CodingKeys.shelf)
    static let mark = Column(CodingKeys.mark)
  }
  var isbn: String
  var title: String?
  var scans = 0
  var blurb = ""
  var place: String?
  var shelf: Int?
  var mark: String?
}

/// A key of two columns, in another order than the table's.
private struct Loan: Codable, FetchableRecord, PersistableRecord {
  enum Columns { static let note = Column(CodingKeys.note) }
  var note: String?
  var person: Int
  var isbn: String
}

/// The same rows with other types than the table's.
private struct Borrowing: Codable, PersistableRecord {
  static let databaseTableName = "loan"
  var isbn: Int
  var person: String
}

/// A record that does not encode the whole key.
private struct Half: Codable, PersistableRecord {
  static let databaseTableName = "loan"
  var isbn: String
}

/// A type that the database has no synced table for.
private struct Stranger: Codable, PersistableRecord { var id: String }

private let creation = """
  CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT, scans INTEGER NOT NULL DEFAULT 0,
    blurb TEXT NOT NULL DEFAULT '', place TEXT, shelf INTEGER, mark TEXT);
  CREATE TABLE loan (note TEXT, isbn TEXT NOT NULL, person INTEGER NOT NULL,
    PRIMARY KEY (isbn, person));
  CREATE TABLE stranger (id TEXT NOT NULL PRIMARY KEY)
  """
private let schema = SyncSchema(
  version: 1,
  tables: [
    SyncTable(
      Book.self,
      merge: [
        Book.Columns.scans: .counter, Book.Columns.blurb: .text, Book.Columns.place: .order,
      ], deletes: .updateWins, local: [Book.Columns.mark]),
    SyncTable(Loan.self),
  ])

private func device(_ id: UInt64) throws -> Device {
  try Device(schema, id: id) { try $0.execute(sql: creation) }
}

@Suite("Records: an app's own types instead of tables' names and keys")
struct RecordTests {
  @Test func `a record's table and columns are the schema's`() {
    let book = SyncTable(
      Book.self, merge: [Book.Columns.scans: .counter], deletes: .lastWriter,
      local: [Book.Columns.mark], formerColumnNames: [Book.Columns.title: "name"],
      formerNames: ["tome"])
    #expect(
      book
        == SyncTable(
          "book", merge: ["scans": .counter], deletes: .lastWriter, local: ["mark"],
          formerColumnNames: ["title": "name"], formerNames: ["tome"]))
    #expect(SyncTable(Loan.self) == SyncTable("loan"))
  }

  @Test func `a row is explained by its record, by its key, and by a key of several columns`()
    async throws
  {
    let a = try device(1)
    let (book, loan) = (Book(isbn: "1", title: "Dune"), Loan(person: 7, isbn: "1"))
    try await a.database.write {
      try book.insert($0)
      try loan.insert($0)
    }
    let explanation = try await a.replica.explain("book", key: ["1"])
    #expect(explanation.columns.contains { $0.name == "title" && $0.value == "Dune" })
    #expect(try await a.replica.explain(book) == explanation)
    #expect(try await a.replica.explain(Book.self, key: "1") == explanation)
    let lent = try await a.replica.explain("loan", key: ["1", 7])
    #expect(try await a.replica.explain(loan) == lent)

    #expect(try await a.replica.history(book).changes.count == 1)
    #expect(try await a.replica.history(Book.self, key: "1").changes.count == 1)
    #expect(try await a.replica.history(loan).changes.count == 1)
  }

  @Test func `a key is found as the table stores it`() async throws {
    let a = try device(1)
    try await a.database.write {
      try $0.execute(sql: "INSERT INTO book (isbn) VALUES (42)")
      try $0.execute(sql: "INSERT INTO loan (isbn, person) VALUES (42, '7')")
    }
    #expect(try await a.replica.explain(Book.self, key: 42).key == ["42"])
    #expect(try await a.replica.explain(Borrowing(isbn: 42, person: "7")).key == ["42", 7])
  }

  @Test func `a table that does not sync and a key without a column are named`() async throws {
    let a = try device(1)
    var error = await #expect(throws: RowLookupError.self) {
      try await a.replica.explain(Stranger(id: "1"))
    }
    #expect(error?.code == .unknownTable)
    error = await #expect(throws: RowLookupError.self) {
      try await a.replica.explain(Half(isbn: "1"))
    }
    #expect(error?.code == .wrongKey)
    #expect(error?.message.contains("“person”") == true)
    error = await #expect(throws: RowLookupError.self) {
      try await a.replica.explain(Loan.self, key: "1")
    }
    #expect(error?.code == .wrongKey)
  }

  @Test func `records move in the list that their columns name`() throws {
    let a = try device(1)
    try a.database.write { db in
      for (isbn, shelf) in [("1", 1), ("2", 1), ("3", 1), ("4", 2)] {
        let place = try a.replica.orderKey(
          Book.self, at: .last, scope: [Book.Columns.shelf: shelf], column: Book.Columns.place,
          in: db)
        try Book(isbn: isbn, place: place.text, shelf: shelf).insert(db)
      }
      let first = Book(isbn: "1")
      try a.replica.move(first, to: .after("2"), scope: [Book.Columns.shelf: 1], in: db)
      #expect(try order(1, db) == ["2", "1", "3"])
      try a.replica.move(Book(isbn: "3"), to: .before(first), in: db)
      #expect(try order(1, db) == ["2", "3", "1"])
      try a.replica.move(first, to: .before(Book(isbn: "2")), in: db)
      #expect(try order(1, db) == ["1", "2", "3"])
      try a.replica.move(first, to: .after(Book(isbn: "3")), in: db)
      #expect(try order(1, db) == ["2", "3", "1"])
      #expect(throws: RowLookupError.self) {
        try a.replica.move(first, to: .after(Book(isbn: "9")), in: db)
      }
    }
  }

  private func order(_ shelf: Int, _ db: Database) throws -> [String] {
    try Book.filter(Book.Columns.shelf == shelf).order(Book.Columns.place).fetchAll(db).map(\.isbn)
  }

  @Test func `a draft is of a record's column`() throws {
    let a = try device(1)
    try a.database.write { db in
      let book = Book(isbn: "1", blurb: "Sand")
      try book.insert(db)
      var draft = try #require(try a.replica.draft(book, column: Book.Columns.blurb, in: db))
      draft.insert(", and more", at: 4)
      #expect(try a.replica.save(&draft, in: db))
      #expect(
        try a.replica.draft(book, column: Book.Columns.blurb, in: db)?.text
          == "Sand, and more")
      #expect(throws: RowLookupError.self) {
        try a.replica.draft(book, column: Book.Columns.title, in: db)
      }
    }
  }

  @Test func `what lost is a record beside the one that stands, and goes into another`()
    async throws
  {
    let (a, b) = (try device(1), try device(2))
    try await a.database.write {
      try Book(isbn: "1", title: "Dune", shelf: 3).insert($0)
      try Book(isbn: "2").insert($0)
    }
    try meet(a, b)
    try a.execute("UPDATE book SET title = 'lost' WHERE isbn = '1'")
    try delay(b, after: a)
    try b.execute("UPDATE book SET title = 'stands' WHERE isbn = '1'")
    try meet(a, b)
    let entries = try await a.replica.inbox() + b.replica.inbox()
    let entry = try #require(entries.first)
    let found = try await a.replica.inbox().isEmpty ? b : a
    #expect(entry.belongs(to: Book.self) && !entry.belongs(to: Loan.self))
    #expect(entry.key(as: String.self) == "1" && entry.key(as: Data.self) == Data("1".utf8))
    #expect(entry[Book.Columns.title] == "lost" && entry[Book.Columns.shelf] == nil)
    let lost = try await found.database.read { try entry.record(Book.self, in: $0) }
    #expect(lost == Book(isbn: "1", title: "lost", shelf: 3))

    let error = await #expect(throws: InboxError.self) {
      try await found.replica.restore(entry, into: Loan(person: 1, isbn: "1"))
    }
    #expect(error?.code == .missingRow)
    try await found.replica.restore(entry, into: Book(isbn: "2"))
    #expect(try found.column("SELECT title FROM book ORDER BY isbn") == ["stands", "lost"])
  }

  @Test func `an entry of a row that is gone is a record of what it held`() async throws {
    let (a, b) = (try device(1), try device(2))
    try await a.database.write { try Loan(note: "kept", person: 1, isbn: "1").insert($0) }
    try meet(a, b)
    try a.execute("UPDATE loan SET note = 'edited'")
    try b.execute("DELETE FROM loan")
    try meet(a, b)
    let found = try await a.replica.inbox().isEmpty ? b : a
    let entry = try #require(try await found.replica.inbox().first)
    let record = try await found.database.read { try entry.record(Loan.self, in: $0) }
    #expect(record.note == "edited" && record.person == 1)
  }

  @Test func `changes are asked for by record`() async throws {
    let a = try device(1)
    var changes = a.replica.changes().makeAsyncIterator()
    try await a.database.write {
      try Book(isbn: "1").insert($0)
      try Loan(person: 1, isbn: "1").insert($0)
    }
    _ = try await a.replica.seal()
    let next = try #require(await changes.next())
    let books = try #require(next[Book.self])
    #expect(books.contains("1") && !books.contains("2"))
    #expect(books.keys(as: String.self) == ["1"])
    #expect(next[Loan.self]?.keys(as: String.self) == nil)
    #expect(next[Stranger.self] == nil)
    #expect(books.contains(1) && !books.contains(2))
    #expect(ReplicaChanges.Rows.all.contains("2"))
    #expect(ReplicaChanges.Rows.all.keys(as: String.self) == nil)
  }

  @Test func `an undo names its rows by record`() async throws {
    let a = try device(1)
    try await a.database.write { try Book(isbn: "1").insert($0) }
    let undone = try await a.replica.undo { _, rows in
      rows.filter { $0.belongs(to: Book.self) }.compactMap { $0.key(as: String.self) }.first
    }
    #expect(undone.count == 1)
    #expect(undone.first?.rows.first?.key(as: String.self) == "1")
    #expect(try a.column("SELECT count(*) FROM book") == ["0"])
  }
}
