import GRDB
import GRDBSQLite

extension Database {
  /// The collation by which a column of a table in the main database is compared, as it was
  /// declared; `nil` where there is no such column.
  package func collation(of column: String, in table: String) -> String? {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(
      sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    return code == SQLITE_OK ? collation.map { String(cString: $0) } : nil
  }
}
