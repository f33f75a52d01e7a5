import CTernSQLite
import Foundation
import GRDB
import GRDBSQLite
import TernCore

/// What a statement can be given through SQLite's C API.
package protocol BindableValue {
  /// Binds the value, of which SQLite makes a copy.
  func bind(to statement: OpaquePointer, at index: Int32)
}

extension Database {
  /// Runs a statement to its end. GRDB's observers see what it changes; its values are given to
  /// SQLite directly, which is cheaper than in GRDB's boxes, and are in no error.
  package func runBound(_ sql: String, _ values: [any BindableValue]) throws {
    let statement = try cachedStatement(sql: sql)
    // Resets, and tells GRDB not to ask for the values that it does not know of.
    statement.setUncheckedArguments(StatementArguments())
    let pointer = statement.sqliteStatement
    for (index, value) in values.enumerated() { value.bind(to: pointer, at: Int32(index) + 1) }
    defer { sqlite3_clear_bindings(pointer) }
    try statement.execute()
  }
}

extension Int64: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    sqlite3_bind_int64(statement, index, self)
  }
}

extension Int: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    sqlite3_bind_int64(statement, index, Int64(self))
  }
}

extension Bool: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    sqlite3_bind_int64(statement, index, self ? 1 : 0)
  }
}

extension Double: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    sqlite3_bind_double(statement, index, self)
  }
}

extension String: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    var text = self
    text.withUTF8 {
      _ = tern_bind_text_copy(statement, index, $0.baseAddress, Int32($0.count))
    }
  }
}

extension Data: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    withUnsafeBytes {
      _ = tern_bind_blob_copy(statement, index, $0.baseAddress, Int32($0.count))
    }
  }
}

/// Texts as they are: GRDB binds none that is not valid UTF-8, and ends one at its first U+0000.
extension SQLiteValue: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    switch self {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, number)
    case .real(let number): sqlite3_bind_double(statement, index, number)
    case .text(let bytes):
      bytes.withUnsafeBytes {
        _ = tern_bind_text_copy(statement, index, $0.baseAddress, Int32($0.count))
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes {
        _ = tern_bind_blob_copy(statement, index, $0.baseAddress, Int32($0.count))
      }
    }
  }
}

extension Optional: BindableValue where Wrapped: BindableValue {
  package func bind(to statement: OpaquePointer, at index: Int32) {
    if let self { self.bind(to: statement, at: index) } else { sqlite3_bind_null(statement, index) }
  }
}
