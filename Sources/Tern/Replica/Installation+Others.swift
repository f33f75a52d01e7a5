import GRDB
import TernDatabase

/// A database can hold several replicas, and what a migration does to it meets the triggers of all.
extension Installation {
  /// The other replicas of the database, as far as the triggers of their tables go.
  func others(_ db: Database) throws -> [Installation] {
    try StoreTables.replicas(in: db).map { StoreTables(name: $0) }
      .filter { $0.prefix != tables.prefix }
      .map {
        Installation(
          database: database, schema: schema, tables: $0, inboxLimits: inboxLimits, makeID: makeID)
      }
  }

  func hasTriggers(_ db: Database) throws -> Bool {
    try !db.names(of: "trigger", prefix: tables.prefix).isEmpty
  }

  /// Puts the triggers back on what was synced, as far as the tables still fit that: of a table
  /// that a migration changed, on the columns that are known under their names. The replica's own
  /// opening makes them those of its new schema; where it is never opened, they are
  /// in nobody's way.
  func putBack(_ db: Database) throws {
    guard try db.tableExists(tables.replica, in: "main") else { return }
    let format = try Int.fetchOne(db, sql: "SELECT format FROM \(tables.replica)")
    // Opening it says what is to be done.
    guard let format, StoreTables.oldestFormat...StoreTables.format ~= format else { return }
    try createTables(db)
    let sql = try installedSQL(db)
    if try tables.areTriggersLifted(db) { try createGoneTables(db, sql, isSealed: false) }
    try noteUnlifted(db, sql)
    try installTriggers(db, sql)
    try installStandingTriggers(StoreTransaction(db, tables: tables, sql: sql))
  }
}
