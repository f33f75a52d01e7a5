import GRDB
import TernCore
import TernDatabase

/// What is looked at again where the database's schema is another than this replica saw last: a migration
/// ran, whoever ran it, and may have written anything.
extension Installation {
  private func schemaCookie(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(db, sql: "PRAGMA main.schema_version") ?? 0
  }

  /// - Source: <https://www.sqlite.org/pragma.html#pragma_schema_version>
  func isSchemaNew(_ db: Database) throws -> Bool {
    let known = try Int64.fetchOne(db, sql: "SELECT schema_cookie FROM \(tables.opened)")
    return try known != schemaCookie(db)
  }

  /// Behind the last statement that changes it.
  func noteSchema(_ db: Database) throws {
    // Opening again what is as it was writes nothing.
    if try !isSchemaNew(db) { return }
    try db.execute(
      sql: "REPLACE INTO \(tables.opened) (one, schema_cookie) VALUES (1, ?)",
      arguments: [schemaCookie(db)])
  }

  /// Puts ``NoteSQL/standingTrigger`` on the tables that have rows for it, and takes it from the others.
  func installStandingTriggers(_ transaction: StoreTransaction) throws {
    let db = transaction.db
    for sql in transaction.sql {
      let trigger = sql.note.standingTrigger
      let isThere = try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = ?)
          """, arguments: [trigger.name])
      let isNeeded = try transaction.hasMigratedRows(sql)
      if isThere == isNeeded { continue }
      if isNeeded {
        try createTrigger(trigger.sql, db)
      } else {
        try db.execute(sql: "DROP TRIGGER main.\(trigger.name.quoted)")
      }
    }
  }
}
