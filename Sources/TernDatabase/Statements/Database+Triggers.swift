import CTernSQLite
import GRDB
import GRDBSQLite

extension Database {
  /// Runs `body` with every trigger of this connection off; they are on again whatever happens.
  package func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    guard tern_enable_triggers(sqliteConnection, 0) == SQLITE_OK else {
      throw DatabaseError(message: "SQLite did not turn off the connection's triggers")
    }
    defer { tern_enable_triggers(sqliteConnection, 1) }
    return try body()
  }
}
