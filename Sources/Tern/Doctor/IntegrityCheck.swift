import GRDB
import TernDatabase

/// What SQLite's own look through the file finds.
///
/// SQLite 3.40.1 takes one column for another in some tables WITHOUT ROWID whose key is not
/// declared first, and calls what stands in the other NULL, or of the wrong type. So what it says
/// of a value in such a table is looked up.
struct IntegrityCheck {
  /// The most that are told.
  private static let limit = 100
  private let db: Database
  /// The columns of tables WITHOUT ROWID, as SQLite names them.
  private let columns: [String: (table: String, column: String)]

  init(_ db: Database) throws {
    self.db = db
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT t.name, c.name FROM pragma_table_list AS t, pragma_table_xinfo(t.name, 'main') AS c
        WHERE t.schema = 'main' AND t.wr
        """)
    columns = Dictionary(rows.map { ("\($0[0] as String).\($0[1] as String)", ($0[0], $0[1])) }) {
      first, _ in first
    }
  }

  func errors() throws -> [String] {
    // A false word comes for each row: it must not use up the limit.
    let all = try String.fetchCursor(db, sql: "PRAGMA integrity_check(\(Int32.max))")
    var isFalse: [String: Bool] = [:]
    var errors: [String] = []
    while errors.count < Self.limit, let error = try all.next() {
      if error == "ok" { continue }
      let known = try isFalse[error] ?? !isTrue(error)
      isFalse[error] = known
      if !known { errors.append(error) }
    }
    return errors
  }

  private func isTrue(_ error: String) throws -> Bool {
    guard let middle = error.range(of: " value in "),
      let (table, column) = columns[String(error[middle.upperBound...])]
    else { return true }
    let value = "value.\(column.quoted)"
    let isSo: String
    switch error[..<middle.lowerBound] {
    // SQLite answers IS NULL by the declaration.
    case "NULL": isSo = "typeof(\(value)) = 'null'"
    case "NUMERIC": isSo = "typeof(\(value)) IN ('integer', 'real')"
    // It should have become a number, so it looks like one.
    case "TEXT": isSo = "typeof(\(value)) = 'text' AND \(value) GLOB '*[0-9]*'"
    default: return true
    }
    return try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM main.\(table.quoted) AS value WHERE \(isSo))") ?? true
  }
}
