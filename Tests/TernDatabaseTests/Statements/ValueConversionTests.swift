import Foundation
import GRDB
import TernCore
import TernDatabase
import Testing

/// Keys and values between Tern and GRDB.
@Suite("Statements: values between Tern and GRDB")
struct ValueConversionTests {
  private static let values: [SQLiteValue] = [
    .null, .integer(0), .integer(.min), .integer(.max), .real(1), .real(-0.0), .real(0.1),
    .real(.infinity), .real(-.infinity), .string(""), .string("Dune"), .string("Åé🐦"), .blob([]),
    .blob([0, 0xFF]),
  ]

  @Test(arguments: values) func `a value of each kind is as it was on its way through SQLite`(
    _ value: SQLiteValue
  ) throws {
    #expect(SQLiteValue.fromDatabaseValue(value.databaseValue) == value)
    try DatabaseQueue().inDatabase { db in
      let arguments: StatementArguments = [value, value]
      let row = try #require(
        try Row.fetchOne(db, sql: "SELECT ? AS value, typeof(?) AS type", arguments: arguments))
      #expect(row["value"] as SQLiteValue == value)
      #expect(try SQLiteValue.fetchOne(db, sql: "SELECT ?", arguments: [value]) == value)
      let kind =
        switch value {
        case .null: "null"
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        }
      #expect(row["type"] == kind)
    }
  }

  @Test func `a NaN is NULL, as SQLite stores it`() throws {
    #expect(SQLiteValue.real(.nan).databaseValue == .null)
    let stored = try DatabaseQueue().inDatabase { db in
      try SQLiteValue.fetchOne(db, sql: "SELECT ?", arguments: [SQLiteValue.real(.nan)])
    }
    #expect(stored == .null)
  }

  @Test func `a text that is not valid UTF-8 has a sign for what can't be read`() throws {
    let stored = try DatabaseQueue().inDatabase { db in
      try SQLiteValue.fetchOne(db, sql: "SELECT ?", arguments: [SQLiteValue.text([0x61, 0xFF])])
    }
    #expect(stored == "a\u{FFFD}")
  }

  @Test func `a key of a change finds its row`() throws {
    try DatabaseQueue().inDatabase { db in
      try db.execute(
        sql: """
          CREATE TABLE book (isbn TEXT NOT NULL PRIMARY KEY, title TEXT);
          INSERT INTO book VALUES ('1', 'Dune'), ('2', NULL)
          """)
      let key: [SQLiteValue] = ["1"]
      let row = try Row.fetchOne(
        db, sql: "SELECT * FROM book WHERE isbn = ?", arguments: StatementArguments(key))
      #expect(row?["title"] as SQLiteValue? == "Dune")
      let none: SQLiteValue? = try Row.fetchOne(
        db, sql: "SELECT title FROM book WHERE isbn = '2'")?[0]
      #expect(none == .null)
    }
  }
}
