import CTernSQLite
import GRDBSQLite
import Tern
import TernCore
import TernDatabase

/// Recorded statements through SQLite's C interface alone: nothing around them that decides, could
/// fail, wait, or be told of it.
final class StatementReplay {
  private var database: OpaquePointer?
  private var statements: [OpaquePointer] = []
  private var beginning, committing: OpaquePointer?
  let texts: [String]
  /// Of what was read, so that it is.
  private(set) var sum: Int64 = 0

  init(_ path: String, _ durability: Durability, _ texts: [String]) throws {
    self.texts = texts
    precondition(sqlite3_open(path, &database) == SQLITE_OK, "\(path) cannot be opened")
    once("PRAGMA synchronous = \(durability == .powerLoss ? "FULL" : "NORMAL")")
    for text in texts { statements.append(prepare(text)) }
    (beginning, committing) = (prepare("BEGIN IMMEDIATE"), prepare("COMMIT"))
  }

  deinit {
    for statement in statements + [beginning!, committing!] { sqlite3_finalize(statement) }
    sqlite3_close(database)
  }

  private func once(_ sql: String) {
    precondition(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, sql)
  }

  private func prepare(_ sql: String) -> OpaquePointer {
    var statement: OpaquePointer?
    precondition(sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, sql)
    return statement!
  }

  func begin() { run(beginning!, []) }

  func commit() { run(committing!, []) }

  /// - Parameter index: of ``texts``.
  func run(_ index: Int, _ values: [SQLiteValue]) { run(statements[index], values) }

  private func run(_ statement: OpaquePointer, _ values: [SQLiteValue]) {
    for (index, value) in zip(Int32(1)..., values) { bind(value, to: statement, at: index) }
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { break }
      precondition(code == SQLITE_ROW, String(cString: sqlite3_errmsg(database)))
      for column in 0..<sqlite3_column_count(statement) { read(statement, column) }
    }
    sqlite3_reset(statement)
  }

  private func bind(_ value: SQLiteValue, to statement: OpaquePointer, at index: Int32) {
    // What is bound stays where it is until the statement is reset.
    switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, number)
    case .real(let number): sqlite3_bind_double(statement, index, number)
    case .text(let bytes):
      bytes.withUnsafeBytes {
        _ = tern_bind_text(statement, index, $0.baseAddress, Int32($0.count))
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes {
        _ = tern_bind_blob(statement, index, $0.baseAddress, Int32($0.count))
      }
    }
  }

  private func read(_ statement: OpaquePointer, _ column: Int32) {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: sum &+= sqlite3_column_int64(statement, column)
    case SQLITE_TEXT, SQLITE_BLOB:
      _ = sqlite3_column_blob(statement, column)
      sum &+= Int64(sqlite3_column_bytes(statement, column))
    default: break
    }
  }
}
