import GRDB
import TernDatabase

/// Entries of the inbox that were dismissed here, by their ids.
///
/// One that follows from the state has an id made of all that it says. So it comes back when it
/// says something else, and its dismissal is forgotten when its row is not held any more.
struct DismissedTable {
  private let connection: StoreConnection
  private var tables: StoreTables { connection.tables }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func add(_ id: Int64, _ row: RowID) throws {
    let add = try connection.statement("REPLACE INTO \(tables.dismissed) VALUES (?, ?, ?)")
    add.bindAll(row.table, SQLiteValue.blob(row.key), id)
    try add.run()
    try notify()
  }

  /// Through GRDB, so that observations know that it was read.
  func ids() throws -> Set<Int64> {
    let select = try connection.text(of: "SELECT entry FROM \(tables.dismissed)")
    return try Set(Int64.fetchAll(connection.db, sql: select))
  }

  func remove(_ id: Int64, _ row: RowID) throws {
    let remove = try connection.statement(
      "DELETE FROM \(tables.dismissed) WHERE tbl = ? AND key = ? AND entry = ?")
    remove.bindAll(row.table, SQLiteValue.blob(row.key), id)
    try remove.run()
    try notify()
  }

  /// Of a row that is no longer kept out, or that was: what is kept out later is another entry.
  func forget(_ row: RowID) throws {
    let forget = try connection.statement(
      "DELETE FROM \(tables.dismissed) WHERE tbl = ? AND key = ? AND entry < 0")
    forget.bindAll(row.table, SQLiteValue.blob(row.key))
    try forget.run()
  }

  /// Forgets those of rows that are held no longer.
  func forgetShown() throws {
    try connection.statement(
      """
      DELETE FROM \(tables.dismissed) WHERE entry < 0 AND NOT EXISTS (
        SELECT 1 FROM \(tables.held) AS h
        WHERE h.tbl = \(tables.dismissed).tbl AND h.key = \(tables.dismissed).key)
      """
    ).run()
  }

  /// Forgets those of lost values that are not in the inbox any more: their ids are given again.
  func forgetGone() throws {
    try connection.statement(
      """
      DELETE FROM \(tables.dismissed)
      WHERE entry > 0 AND entry NOT IN (SELECT id FROM \(tables.inbox))
      """
    ).run()
  }

  /// Observers of the inbox look at what is held.
  private func notify() throws {
    try connection.db.notifyChanges(inTable: tables.held)
  }
}
