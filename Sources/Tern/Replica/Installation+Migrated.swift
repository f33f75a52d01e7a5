import GRDB
import TernCore
import TernDatabase

/// What is looked at again where a migration ran since this replica was last opened, whoever ran
/// it: it may have written anything.
extension Installation {
  /// The app's own schema, and the migrations and the version that it says it has. SQLite's number
  /// of the schema grows with each opening of a `DatabasePool`, which makes a table and drops it.
  func migrationChecksum(_ db: Database) throws -> Int64 {
    var texts = try String.fetchAll(
      db,
      sql: """
        SELECT coalesce(sql, '') FROM main.sqlite_master
        WHERE substr(name, 1, 5) <> 'grdb_' AND substr(name, 1, 7) <> 'sqlite_'
        ORDER BY type, name
        """)
    if try db.hasTable("grdb_migrations") {
      texts += try String.fetchAll(
        db, sql: "SELECT CAST(identifier AS TEXT) FROM main.grdb_migrations ORDER BY 1")
    }
    texts.append("\(try Int64.fetchOne(db, sql: "PRAGMA main.user_version") ?? 0)")
    var checksum = Checksum()
    for text in texts { checksum.add(Array(text.utf8) + [0]) }
    return Int64(checksum.value)
  }

  /// The same with what the replica's own schema makes of it: of both together depends which parts
  /// of operations can be merged, and which rows can stand.
  func openedChecksum(_ db: Database, _ catalogue: Catalogue, _ shapes: [TableShape]) throws
    -> Int64
  {
    var checksum = Checksum(try catalogue.checksum())
    // Another release may decide otherwise what is shown.
    checksum.add(Array("\(StoreTables.format)".utf8) + [0])
    // Which the catalogue does not have: what peers call it.
    for shape in shapes {
      let names =
        [[shape.name] + shape.formerNames, shape.formerKeyNames.flatMap { $0 }]
        + shape.columns.map { [$0.name] + $0.formerNames }
      for name in names.joined() { checksum.add(Array(name.utf8) + [0]) }
    }
    return Int64(checksum.value) << 32 | (try migrationChecksum(db))
  }

  /// Puts ``NoteSQL/standingTrigger`` on the tables that have rows for it, and takes it
  /// from the others.
  func installStandingTriggers(_ transaction: StoreTransaction) throws {
    let db = transaction.db
    for sql in transaction.sql {
      let trigger = sql.note.standingTrigger
      let isThere = try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND name = ?)
          """, arguments: [trigger.name])
      let isNeeded = try hasMigratedRows(sql, transaction)
      if isThere == isNeeded { continue }
      if isNeeded {
        try createTrigger(trigger.sql, db)
      } else {
        try db.execute(sql: "DROP TRIGGER main.\(trigger.name.quoted)")
      }
    }
  }

  /// Whether a table has rows that a migration brought and nobody has written since. Costs a look
  /// at every row.
  private func hasMigratedRows(_ sql: TableSQL, _ transaction: StoreTransaction) throws -> Bool {
    let unknown = try transaction.statement(
      "SELECT 1 FROM \(sql.shape.qualifiedName) AS r WHERE \(sql.note.isStateless) LIMIT 1")
    if try unknown.first({}) != nil { return true }
    return try sql.shape.deletes.keepsContent && hasDeletedRow(sql, transaction)
  }

  /// Whether a row stands in its table that is deleted, and kept: a migration brought
  /// its key again.
  private func hasDeletedRow(_ sql: TableSQL, _ transaction: StoreTransaction) throws -> Bool {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let kept = try transaction.statement("SELECT key FROM \(tables.kept) WHERE tbl = ?")
    kept.bind(1, sql.shape.id)
    defer { kept.reset() }
    while try kept.step() {
      if try writer.read(Array(kept.blob(0))) != nil { return true }
    }
    return false
  }
}
