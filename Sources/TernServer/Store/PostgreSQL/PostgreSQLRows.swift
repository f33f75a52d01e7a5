#if PostgreSQL
import CPostgreSQL
import Foundation

/// What a statement gave. Its numbers are of eight bytes: SQL casts others.
final class PostgreSQLRows {
  private let result: OpaquePointer

  /// - Parameter result: this object clears it.
  init(owning result: OpaquePointer) { self.result = result }

  deinit { PQclear(result) }

  var count: Int { Int(PQntuples(result)) }
  /// The command that was run, as the server names it.
  var command: String { String(cString: PQcmdStatus(result)) }
  /// How many rows a statement that writes wrote.
  var changed: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

  subscript(row: Int) -> PostgreSQLRow { PostgreSQLRow(rows: self, row: Int32(row)) }

  var first: PostgreSQLRow? { count > 0 ? self[0] : nil }

  func map<Value>(_ transform: (PostgreSQLRow) throws -> Value) rethrows -> [Value] {
    try (0..<count).map { try transform(self[$0]) }
  }

  fileprivate var columnCount: Int { Int(PQnfields(result)) }
  fileprivate func type(of column: Int) -> Oid { PQftype(result, Int32(column)) }

  fileprivate func bytes(_ row: Int32, _ column: Int) -> UnsafeRawBufferPointer? {
    let column = Int32(column)
    guard PQgetisnull(result, row, column) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
  }
}

/// One row of them.
struct PostgreSQLRow {
  fileprivate let rows: PostgreSQLRows
  fileprivate let row: Int32

  func isNull(_ column: Int) -> Bool { rows.bytes(row, column) == nil }

  func bytes(_ column: Int) -> [UInt8]? { rows.bytes(row, column).map { Array($0) } }

  func text(_ column: Int) -> String? {
    rows.bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
  }

  func integer(_ column: Int) -> Int64 {
    guard let bytes = rows.bytes(row, column) else { return 0 }
    precondition(bytes.count == 8, "a number is selected as eight bytes")
    return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
  }

  func flag(_ column: Int) -> Bool { integer(column) != 0 }

  /// All of them, by the types that their columns have.
  var values: [StoredValue] {
    (0..<rows.columnCount).map { column in
      switch rows.type(of: column) {
      case PostgreSQLValue.integerType:
        isNull(column) ? .null : .integer(integer(column))
      case PostgreSQLValue.bytesType: StoredValue(bytes(column))
      default: StoredValue(text(column))
      }
    }
  }

  /// The number in a column, looked at.
  ///
  /// - Throws: ``NumberOutOfRange``.
  func number(_ column: Int, _ number: StoredNumber, of table: String) throws -> Int64 {
    try number.checked(integer(column), of: table)
  }

  func position(_ column: Int, of table: String) throws -> UInt64 {
    UInt64(try number(column, .position, of: table))
  }

  func time(_ column: Int, of table: String) throws -> Date {
    Date(milliseconds: try number(column, .time, of: table))
  }
}
#endif
