import CTernSQLite
import GRDB
import GRDBSQLite
import TernCore

/// A statement driven through SQLite's C API, for the paths that run once a row.
///
/// GRDB owns and caches the statement, so the app can close its database; this is a borrowed view
/// for one transaction. GRDB's observation does not see what it changes: the caller says so with
/// `Database.notifyChanges(inTable:)`.
package struct FastStatement {
  package let pointer: OpaquePointer
  private let owner: Statement

  package init(_ db: Database, _ sql: String) throws {
    self.init(try db.cachedStatement(sql: sql))
  }

  init(_ owner: Statement) {
    self.owner = owner
    pointer = owner.sqliteStatement
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  package var sql: String { owner.sql }

  /// Has a GRDB observation that runs this follow what the statement reads: it does not see
  /// who steps it.
  package func registerAccess(in db: Database) throws {
    try db.registerAccess(to: owner.databaseRegion)
  }

  // MARK: - Binding; indices begin at 1

  package func bind(_ index: Int32, _ value: Int64) {
    sqlite3_bind_int64(pointer, index, value)
  }

  package func bind(_ index: Int32, raw value: UInt64) {
    sqlite3_bind_int64(pointer, index, Int64(bitPattern: value))
  }

  /// Binds values from the first on; SQLite copies them.
  package func bindAll(_ values: any BindableValue...) {
    for (index, value) in values.enumerated() { value.bind(to: pointer, at: Int32(index) + 1) }
  }

  package func bindNull(_ index: Int32) {
    sqlite3_bind_null(pointer, index)
  }

  /// Binds bytes that must stay valid until the next ``reset()``.
  package func bind(_ index: Int32, blob: UnsafeRawBufferPointer) {
    _ = tern_bind_blob(pointer, index, blob.baseAddress, Int32(blob.count))
  }

  /// Binds a value whose buffer must stay valid until the next ``reset()``.
  package func bind(_ index: Int32, _ value: WireValue) {
    switch value.tag {
    case .null, .integer128: sqlite3_bind_null(pointer, index)
    case .integer, .negative, .integer64:
      sqlite3_bind_int64(pointer, index, Int64(bitPattern: value.bits))
    case .real: sqlite3_bind_double(pointer, index, Double(bitPattern: value.bits))
    case .text:
      _ = tern_bind_text(pointer, index, value.content.baseAddress, Int32(value.content.count))
    case .blob: bind(index, blob: value.content)
    }
  }

  /// Binds a value; SQLite copies it.
  package func bind(_ index: Int32, copy value: SQLiteValue) {
    value.bind(to: pointer, at: index)
  }

  // MARK: - Running

  /// Steps to the next row; `false` when there is none.
  package func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure()
    }
  }

  /// Runs to the end and resets.
  package func run() throws {
    defer { reset() }
    while try step() {}
  }

  /// Runs to the end and resets; whether a row changed.
  package func runCounting() throws -> Bool {
    try run()
    return changeCount > 0
  }

  /// What of the app's table refused a statement.
  package enum Refusal: Sendable {
    /// A UNIQUE index alone: SQLite looks at every other constraint before.
    case unique
    /// Another constraint, or an expression of the app's that fails with these values: in an index,
    /// a generated column, a CHECK or a trigger.
    case other
  }

  /// Runs to the end and resets; `nil` unless the app's table refused it.
  ///
  /// - Throws: ``TransactionEnded`` where the refusal ended the whole transaction.
  package func runUnlessRefused() throws -> Refusal? {
    defer { reset() }
    while true {
      let code = sqlite3_step(pointer)
      switch code & 0xFF {
      case SQLITE_ROW: continue
      case SQLITE_DONE: return nil
      case SQLITE_CONSTRAINT, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_TOOBIG:
        // Every caller is inside a transaction.
        let hasEnded = sqlite3_get_autocommit(sqlite3_db_handle(pointer)) != 0
        if hasEnded { throw TransactionEnded(cause: failure()) }
        return code == ResultCode.SQLITE_CONSTRAINT_UNIQUE.rawValue ? .unique : .other
      default: throw failure()
      }
    }
  }

  package func reset() {
    sqlite3_reset(pointer)
  }

  /// How many rows the last run changed, without those that triggers did.
  package var changeCount: Int {
    // SQLite counts those of the last one that writes.
    sqlite3_stmt_readonly(pointer) != 0 ? 0 : Int(sqlite3_changes(sqlite3_db_handle(pointer)))
  }

  private func failure() -> DatabaseError {
    let connection = sqlite3_db_handle(pointer)
    let code = ResultCode(rawValue: sqlite3_extended_errcode(connection))
    let message = String(cString: sqlite3_errmsg(connection))
    let sql = sqlite3_sql(pointer).map { String(cString: $0) }
    sqlite3_reset(pointer)
    return DatabaseError(resultCode: code, message: message, sql: sql)
  }

  /// What `body` makes of the first row, `nil` where there is none; resets.
  package func first<T>(_ body: () throws -> T) throws -> T? {
    defer { reset() }
    return try step() ? body() : nil
  }

  /// Calls `body` for each row and resets.
  package func each(_ body: () throws -> Void) throws {
    defer { reset() }
    while try step() { try body() }
  }

  // MARK: - Reading; columns begin at 0

  package func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(pointer, column) == SQLITE_NULL
  }

  package func int64(_ column: Int32) -> Int64 {
    sqlite3_column_int64(pointer, column)
  }

  package func raw(_ column: Int32) -> UInt64 {
    UInt64(bitPattern: sqlite3_column_int64(pointer, column))
  }

  package func int(_ column: Int32) -> Int { Int(int64(column)) }

  /// Whether the number is another than 0.
  package func bool(_ column: Int32) -> Bool { int64(column) != 0 }

  package func text(_ column: Int32) -> String {
    let start = sqlite3_column_text(pointer, column)
    return String(
      decoding: UnsafeBufferPointer(
        start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column))),
      as: UTF8.self)
  }

  /// A blob's bytes, valid until the next step.
  package func blob(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(
      start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
  }

  /// The value of a column, valid until the next step.
  package func value(_ column: Int32) -> WireValue {
    // One look for the column, instead of one each for its type, bytes and length. Nobody else uses
    // the connection meanwhile, so the value needs no protection.
    let value = sqlite3_column_value(pointer, column)
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER:
      let number = sqlite3_value_int64(value)
      return WireValue(number < 0 ? .negative : .integer, bits: UInt64(bitPattern: number))
    case SQLITE_FLOAT: return WireValue(.real, bits: sqlite3_value_double(value).bitPattern)
    case SQLITE_TEXT:
      let start = sqlite3_value_text(value)
      return WireValue(.text, content: content(start, of: value))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      return WireValue(.blob, content: content(start, of: value))
    default: return WireValue(.null)
    }
  }

  private func content(_ start: UnsafeRawPointer?, of value: OpaquePointer?)
    -> UnsafeRawBufferPointer
  {
    let count = start == nil ? 0 : Int(sqlite3_value_bytes(value))
    return UnsafeRawBufferPointer(start: start, count: count)
  }
}
