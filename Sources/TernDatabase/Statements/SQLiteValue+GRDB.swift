import Foundation
import GRDB
import TernCore

/// Takes keys and values to and from GRDB: as an argument, out of a row, as a column of a record.
///
/// ```swift
/// let title = try String.fetchOne(
///   db, sql: "SELECT title FROM book WHERE isbn = ?", arguments: [entry.key[0]])
/// ```
///
/// A NaN becomes NULL, as SQLite has it. GRDB ends a text at its first U+0000, and one that is not
/// valid UTF-8 reaches it with U+FFFD for what can't be read.
extension SQLiteValue: DatabaseValueConvertible {
  public var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.isNaN ? .null : number.databaseValue
    case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
    case .blob(let bytes): Data(bytes).databaseValue
    }
  }

  /// Never `nil`: every value of SQLite's is one.
  public static func fromDatabaseValue(_ value: DatabaseValue) -> SQLiteValue? {
    switch value.storage {
    case .null: .null
    case .int64(let number): .integer(number)
    case .double(let number): .real(number)
    case .string(let text): .string(text)
    case .blob(let data): .blob(Array(data))
    }
  }
}
