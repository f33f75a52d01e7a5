import CTernSQLite
import GRDB
import GRDBSQLite

extension Database {
  /// Runs `body`, inside a transaction, with every trigger of this connection off; they are on
  /// again whatever happens.
  package func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    // SQLite's switch leaves temporary triggers on. When `body` throws, rolling back restores them.
    let temporary = try Row.fetchAll(
      self, sql: "SELECT name, sql FROM temp.sqlite_temp_master WHERE type = 'trigger'"
    ).map { (name: $0["name"] as String, sql: $0["sql"] as String) }
    for trigger in temporary { try execute(sql: "DROP TRIGGER temp.\(trigger.name.quotedName)") }
    let result = try switchingTriggersOff(body)
    for trigger in temporary {
      // What SQLite keeps always begins like this, without TEMP.
      let declaration = trigger.sql.dropFirst("CREATE TRIGGER".count)
      try execute(sql: "CREATE TEMP TRIGGER\(declaration)")
    }
    return result
  }

  private func switchingTriggersOff<T>(_ body: () throws -> T) throws -> T {
    // Inside of another one of these they stay off to its end.
    if tern_triggers_are_enabled(sqliteConnection) == 0 { return try body() }
    guard tern_enable_triggers(sqliteConnection, 0) == SQLITE_OK else {
      throw DatabaseError(message: "SQLite did not turn off the connection's triggers")
    }
    defer { tern_enable_triggers(sqliteConnection, 1) }
    return try body()
  }
}

extension String {
  fileprivate var quotedName: String {
    "\"" + replacing("\"", with: "\"\"") + "\""
  }
}
