import CTernSQLite
import GRDB
import GRDBSQLite

extension Database {
  /// Runs `body` with foreign keys neither enforced nor acted on, also inside a transaction, where
  /// the pragma does nothing; they are as before whatever happens. What `body` leaves is its
  /// own to check.
  ///
  /// - Source: <https://www.sqlite.org/c3ref/c_dbconfig_defensive.html>
  package func withoutForeignKeys<T>(_ body: () throws -> T) throws -> T {
    guard try Bool.fetchOne(self, sql: "PRAGMA foreign_keys") ?? false else { return try body() }
    guard tern_enable_foreign_keys(sqliteConnection, 0) == SQLITE_OK else {
      throw DatabaseError(message: "SQLite did not turn off the connection's foreign keys")
    }
    defer { tern_enable_foreign_keys(sqliteConnection, 1) }
    return try body()
  }

  /// Whether the open transaction could not be committed, because rows that it wrote lack their
  /// parents.
  ///
  /// - Source: <https://www.sqlite.org/c3ref/c_dbstatus_options.html>
  package var hasOpenViolations: Bool {
    var (count, highest): (Int32, Int32) = (0, 0)
    sqlite3_db_status(sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &count, &highest, 0)
    return count != 0
  }
}
