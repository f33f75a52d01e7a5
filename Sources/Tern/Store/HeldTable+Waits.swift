import TernCore
import TernDatabase

/// What quarantined rows wait for, so that a settlement looks at those alone whose wait may be
/// over.
///
/// Such a row waits for rows that are named in ``StoreTables/waits``: its parents, and those that
/// hold its UNIQUE values. Whoever writes one of these, or changes its state, wakes what waits for
/// it. A row of which that cannot be said stays in ``StoreTables/unsettledRow``.
extension HeldTable {
  /// Has the next settlement look at a row, if it is quarantined, and at those that wait for it.
  func wake(_ table: Int64, _ key: some ContiguousBytesLike) throws {
    if Planted.isActive(.heldNotWoken) { return }
    if try hasRows() { try run(tables.statements.wake, table, key) }
  }

  /// Has the next settlement look at every row that is quarantined.
  func wakeAll() throws {
    try statement(tables.statements.wakeAll).run()
    // Of tables that sync no more. They are woken when these do again.
    try statement(tables.statements.settleOthers).run()
    try noteUnsettledRows()
  }

  func hasUnsettledRows() throws -> Bool {
    guard try hasRows() else { return false }
    let any = try statement(tables.statements.anyUnsettledRow)
    defer { any.reset() }
    return try any.step()
  }

  /// Has the next seal settle, if there is anything to look at.
  func noteUnsettledRows() throws {
    if try hasUnsettledRows() { try noteUnsettled() }
  }

  func isUnsettled(_ row: RowID) throws -> Bool {
    let any = try statement("SELECT 1 FROM \(tables.unsettledRow) WHERE tbl = ? AND key = ?")
    any.bindAll(row.table, SQLiteValue.blob(row.key))
    defer { any.reset() }
    return try any.step()
  }

  /// The keys of a table's rows at which this settlement looks.
  func unsettledKeys(_ table: Int64) throws -> [[UInt8]] {
    let select = try statement(
      "SELECT key FROM \(tables.unsettledRow) WHERE tbl = ? ORDER BY key")
    select.bind(1, table)
    var keys: [[UInt8]] = []
    try select.each { keys.append(Array(select.blob(0))) }
    return keys
  }

  /// The next settlement looks at this row and its children.
  ///
  /// Not at once: in a transaction of the app's they may get another parent yet, or the same one
  /// again, before it is committed.
  func noteForSettlement(_ table: Int64, _ key: [UInt8]) throws {
    try run("INSERT OR IGNORE INTO \(tables.goneParent) VALUES (?, ?)", table, key)
    try noteUnsettled()
  }

  /// Whether a row stands in its table that is to go from there.
  func isToGo(_ table: Int64, _ key: [UInt8]) throws -> Bool {
    try hasRows() && reason(of: RowID(table: table, key: key)) == .removal
  }

  /// The keys of a table's rows that are to go from there, which the table refuses.
  func refusedRemovals(of table: Int64) throws -> Set<[UInt8]> {
    Set(try keys(of: table, .removal))
  }

  func foldedKeys(of table: Int64) throws -> [[UInt8]] { try keys(of: table, .folded) }

  private func keys(of table: Int64, _ reason: HeldReason) throws -> [[UInt8]] {
    guard try hasRows() else { return [] }
    let select = try statement(
      "SELECT key FROM \(tables.held) WHERE tbl = ? AND reason = '\(reason)'")
    select.bind(1, table)
    var keys: [[UInt8]] = []
    try select.each { keys.append(Array(select.blob(0))) }
    return keys
  }

  /// The rows that wait for a row.
  func waiters(of row: RowID) throws -> [RowID] {
    let select = try statement(
      "SELECT tbl, key FROM \(tables.waits) WHERE on_tbl = ? AND on_key = ? ORDER BY tbl, key")
    select.bindAll(row.table, SQLiteValue.blob(row.key))
    var rows: [RowID] = []
    try select.each { rows.append(RowID(table: select.int64(0), key: Array(select.blob(1)))) }
    return rows
  }

  /// Writes down what a quarantined row waits for.
  ///
  /// - Parameter rows: `nil` where that cannot be said.
  func setWaits(_ row: RowID, on rows: Set<RowID>?) throws {
    try run(tables.statements.forgetWaits, row.table, row.key)
    let add = try statement(tables.statements.addWait)
    for other in rows ?? [] {
      add.bindAll(other.table, SQLiteValue.blob(other.key), row.table, SQLiteValue.blob(row.key))
      try add.run()
    }
    if rows == nil { return }
    try run(tables.statements.settleRow, row.table, row.key)
    // The inbox names them.
    try notify()
  }

  /// Runs a statement about one row.
  ///
  /// - Returns: how many rows it changed.
  @discardableResult
  func run(_ sql: String, _ table: Int64, _ key: some ContiguousBytesLike) throws -> Int {
    let statement = try statement(sql)
    try key.withBytes { key in
      statement.bind(1, table)
      statement.bind(2, blob: key)
      try statement.run()
    }
    return statement.changeCount
  }
}
