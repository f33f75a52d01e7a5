import CTernSQLite
import GRDB
import GRDBSQLite
import TernCore

extension Database {
  package typealias Trigger = (name: String, sql: String)

  /// Runs `body`, inside a transaction, with every trigger of this connection off; they are on
  /// again whatever happens.
  package func withoutTriggers<T>(_ body: () throws -> T) throws -> T {
    let temporary = try Row.fetchAll(
      self, sql: "SELECT name, sql FROM temp.sqlite_temp_master WHERE type = 'trigger'"
    ).map { (name: $0["name"] as String, sql: $0["sql"] as String) }
    return try withoutTriggers(but: [], hiding: temporary, body)
  }

  /// Runs `body`, inside a transaction, without the triggers of the database itself and without
  /// some temporary ones. The others of these, which SQLite's switch leaves on, and `copies` run.
  ///
  /// - Parameters:
  ///   - copies: temporary triggers that are there meanwhile.
  ///   - hidden: temporary triggers as SQLite keeps them.
  package func withoutTriggers<T>(
    but copies: [Trigger], hiding hidden: [Trigger], _ body: () throws -> T
  ) throws -> T {
    // The switch first: each change of the schema then has the statements prepared once.
    try switchingTriggersOff {
      do {
        for trigger in hidden { try execute(sql: "DROP TRIGGER temp.\(trigger.name.quotedName)") }
        for copy in copies { try execute(sql: copy.sql) }
        let result = try body()
        try putBack(copies, hidden)
        return result
      } catch {
        // What failed first is what the caller is told, and rolling back does the same. Where
        // `body` ended the transaction, that did it.
        if isInsideTransaction { try? putBack(copies, hidden) }
        throw error
      }
    }
  }

  private func putBack(_ copies: [Trigger], _ hidden: [Trigger]) throws {
    for copy in copies where !Planted.isActive(.copyStays) {
      try execute(sql: "DROP TRIGGER IF EXISTS temp.\(copy.name.quotedName)")
    }
    for trigger in hidden {
      // What SQLite keeps always begins like this, without TEMP.
      let declaration = trigger.sql.dropFirst("CREATE TRIGGER".count)
      try execute(sql: "CREATE TEMP TRIGGER IF NOT EXISTS\(declaration)")
    }
  }

  private func switchingTriggersOff<T>(_ body: () throws -> T) throws -> T {
    // Inside of another one of these they stay off to its end.
    if tern_triggers_are_enabled(sqliteConnection) == 0 { return try body() }
    guard tern_enable_triggers(sqliteConnection, 0) == SQLITE_OK else {
      throw DatabaseError(message: "SQLite did not turn off the connection's triggers")
    }
    defer {
      if isInsideTransaction || !Planted.isActive(.switchStaysOff) {
        tern_enable_triggers(sqliteConnection, 1)
      }
    }
    return try body()
  }
}

extension String {
  fileprivate var quotedName: String {
    "\"" + replacing("\"", with: "\"\"") + "\""
  }
}
