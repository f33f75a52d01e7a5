import TernCore
import TernDatabase

/// The end of a settlement: says of each row that was looked at and stays quarantined what it waits
/// for, and tells children of deleted parents from those whose parents have not come.
///
/// The declared action is not a write of anybody's, so it makes no operation: the child stays in
/// the state as it is, and is shown again when its parent is.
extension Settlement {
  func settleHeld() throws {
    if try transaction.held.hasRows() {
      for sql in transaction.sql {
        for key in try transaction.held.unsettledKeys(sql.shape.id) { try settle(key, sql) }
      }
    }
    if transaction.held.hasTold { try transaction.dismissed.forgetShown() }
  }

  private func settle(_ key: [UInt8], _ sql: TableSQL) throws {
    let row = RowID(table: sql.shape.id, key: key)
    guard let reason = try transaction.held.reason(of: row) else { return }
    if reason.isInTable { return try settleInTable(row, reason, sql) }
    guard
      let held = try transaction.held.content(in: .held, row.table, key)
    else { return }
    let content = sql.shape.present(held)
    switch reason {
    case .constraint, .incomplete, .deleted, .folded, .veiled:
      // Nothing but a change of its own can show it, and it may be gone with its parent.
      let parents = try self.parents.hasVeilable() ? parentRows(of: row, content, sql).rows : []
      try transaction.held.setWaits(row, on: parents)
    case .removal:
      // An expression of the app's failed, and nobody knows what that waits for.
      try transaction.held.setWaits(row, on: nil)
    case .unique:
      let parents = try parentRows(of: row, content, sql)
      let shown = try waitingRow(row, content, sql).content
      let rivals = try writer(sql).rivals(of: key, content: shown)
        .map { RowID(table: row.table, key: $0) }
      // A rival that came before it can be quarantined itself, because its parent lost a place.
      try transaction.held.setWaits(row, on: rivals.isEmpty ? nil : parents.rows.union(rivals))
    case .parent, .orphaned:
      let parents = try parentRows(of: row, content, sql)
      if parents.isDeleted {
        if reason == .parent { try transaction.held.markOrphaned(row) }
        if !knownOrphans.contains(row) { newOrphans += 1 }
        try transaction.held.setWaits(row, on: parents.rows)
      } else {
        // It may hold UNIQUE values that another wants, and that no search in its table finds.
        let isNamed = parents.isMissing && !contested.contains(row.table)
        try transaction.held.setWaits(row, on: isNamed ? parents.rows : nil)
      }
    }
  }

  /// Of a row that stays in its table: it waits for those that it points to, and those without
  /// which it is shown.
  private func settleInTable(_ row: RowID, _ reason: HeldReason, _ sql: TableSQL) throws {
    var rows: Set<RowID> = []
    if let veil = try writer(sql).veil(of: row.key) {
      let held = veil.columns.reduce(into: [:]) { $0[$1.name] = $1.held }
      for reference in try parents.references(of: row.key, held, sql.shape) {
        rows.insert(RowID(table: reference.parent.shape.id, key: reference.key))
      }
    }
    if reason == .folded {
      if Planted.isActive(.foldedNotWoken) { return try transaction.held.setWaits(row, on: []) }
      let shown = try writer(sql).readShown(row.key)
      for rival in try shown.map({ try writer(sql).rivals(of: row.key, content: $0) }) ?? [] {
        rows.insert(RowID(table: row.table, key: rival))
      }
    }
    try transaction.held.setWaits(row, on: rows)
  }

  /// The rows that a quarantined row refers to by their keys.
  private struct Parents {
    var rows: Set<RowID> = []
    /// Whether one of them is not in its table.
    var isMissing = false
    /// Whether one that is not was deleted.
    var isDeleted = false
  }

  private func parentRows(of row: RowID, _ content: [String: SQLiteValue], _ sql: TableSQL) throws
    -> Parents
  {
    var found = Parents()
    // The default that a veil shows has a parent too.
    if let veil = try parents.veil(over: content, of: row.key, sql) {
      for reference in try parents.references(of: row.key, veil.laid(over: content), sql.shape) {
        found.rows.insert(RowID(table: reference.parent.shape.id, key: reference.key))
      }
    }
    found.rows.remove(row)
    for reference in try parents.references(of: row.key, content, sql.shape) {
      let parent = RowID(table: reference.parent.shape.id, key: reference.key)
      if parent == row { continue }
      found.rows.insert(parent)
      let writer = try writer(reference.parent)
      if try writer.read(reference.key) != nil { continue }
      found.isMissing = true
      if try writer.state(of: reference.key)?.deletion != nil { found.isDeleted = true }
    }
    return found
  }
}
