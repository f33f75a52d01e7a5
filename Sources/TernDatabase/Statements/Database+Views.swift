import CTernSQLite
import GRDB
import GRDBSQLite

extension Database {
  /// Makes every statement of this connection fail that reads a view. In a file that somebody else
  /// made, one may stand where a table is expected, and never come to an end.
  package func disableViews() throws {
    guard tern_disable_views(sqliteConnection) == SQLITE_OK else {
      throw DatabaseError(message: "SQLite did not turn off the connection's views")
    }
  }
}
