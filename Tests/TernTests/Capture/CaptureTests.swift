import GRDB
import Tern
import TestDevice
import Testing

private let books = SyncSchema(
  version: 1,
  tables: [SyncTable("book", merge: ["scans": .counter, "confidence": .max])])

private func device(_ id: UInt64) throws -> Device {
  try Device(books, id: id) { db in
    try db.execute(
      sql: """
        CREATE TABLE book (
          isbn TEXT NOT NULL PRIMARY KEY, title TEXT, author TEXT,
          scans INTEGER NOT NULL DEFAULT 0, confidence REAL)
        """)
  }
}

@Suite("Capture: what is written travels")
struct CaptureTests {
  @Test func `rows, updates and deletes travel`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.execute(
      "INSERT INTO book VALUES ('1', 'Dune', 'Herbert', 2, 0.5), ('2', 'Emma', NULL, 0, NULL)")
    try meet(a, b)
    #expect(
      try b.rows("SELECT * FROM book ORDER BY isbn") == a.rows("SELECT * FROM book ORDER BY isbn"))
    try b.execute("UPDATE book SET title = 'dune' WHERE isbn = '1'")
    try b.execute("DELETE FROM book WHERE isbn = '2'")
    try meet(a, b)
    #expect(try a.rows("SELECT title FROM book") == [["dune".databaseValue]])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
    #expect(try a.store.counts().unsealedChanges == 0)
  }

  @Test func `edits to different columns both stay, counters are summed, the extreme stays`() throws
  {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO book VALUES ('1', 'Dune', 'Herbert', 10, 0.5)")
    try meet(a, b)
    try a.execute("UPDATE book SET title = 'A', scans = scans + 3, confidence = 0.9")
    try b.execute("UPDATE book SET author = 'B', scans = scans + 4, confidence = 0.7")
    try meet(a, b)
    try meet(a, b)
    let expected: [[DatabaseValue]] = [
      ["1", "A", "B", 17, 0.9].map { ($0 as! any DatabaseValueConvertible).databaseValue }
    ]
    #expect(try a.rows("SELECT * FROM book") == expected)
    #expect(try b.rows("SELECT * FROM book") == expected)
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test func `two inserts with one key become one row, and its counter holds both`() throws {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO book VALUES ('1', 'A', NULL, 1, 0.2)")
    try b.execute("INSERT INTO book VALUES ('1', 'B', NULL, 1, 0.1)")
    try meet(a, b)
    #expect(try a.rows("SELECT * FROM book") == b.rows("SELECT * FROM book"))
    #expect(
      try a.rows("SELECT scans, confidence FROM book") == [[2.databaseValue, 0.2.databaseValue]])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }

  @Test
  func `a delete beats a concurrent edit under .deleteWins, and a new insert beats the delete`()
    throws
  {
    let (a, b) = (try device(1), try device(2))
    try a.execute("INSERT INTO book VALUES ('1', 'A', NULL, 5, 0.2)")
    try meet(a, b)
    try a.execute("DELETE FROM book")
    try b.execute("UPDATE book SET title = 'B', scans = 9")
    try meet(a, b)
    #expect(try a.rows("SELECT * FROM book") == [])
    #expect(try b.rows("SELECT * FROM book") == [])
    try b.execute("INSERT INTO book VALUES ('1', 'C', NULL, 1, NULL)")
    try meet(a, b)
    #expect(try a.rows("SELECT title, scans FROM book") == [["C".databaseValue, 1.databaseValue]])
    #expect(try a.store.canonicalState() == b.store.canonicalState())
  }
}
