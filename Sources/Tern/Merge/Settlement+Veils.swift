import TernCore
import TernDatabase

/// Rows that are shown without a deleted parent: which they are is decided before all else, by
/// ``DeletedParents``.
extension Settlement {
  /// Shows again what veils hide of the rows that are to be looked at, where what they refer to is
  /// gone no longer, or something else is.
  func liftVeils() throws {
    guard try transaction.veils.hasRows(), try transaction.held.hasUnsettledRows() else { return }
    // What waits for a row that is gone with its own parent is looked at with that.
    try transaction.statement(transaction.tables.statements.wakeFurther).run()
    for sql in transaction.sql {
      let writer = try writer(sql)
      for key in try transaction.held.unsettledKeys(sql.shape.id) {
        guard let laid = try writer.veil(of: key) else { continue }
        guard let content = try writer.read(key), try writer.state(of: key)?.isShown ?? false else {
          try writer.veils.drop(key)
          continue
        }
        if try parents.veil(over: content, of: key, sql) != laid {
          try writer.veils.lift(laid, from: key)
        }
      }
    }
  }

  /// Veils a row in its table.
  ///
  /// - Returns: whether that is done. Where the table refuses it, the row is quarantined.
  func lay(on key: [UInt8], _ writer: TableWriter) throws -> Bool {
    guard let content = try writer.read(key),
      let veil = try parents.veil(over: content, of: key, writer.sql)
    else { return false }
    let before = try writer.veil(of: key)
    // What it shows has no parent either.
    if before == veil { return false }
    // As the state has it, so that nothing of the veil before is left.
    if let before { try writer.veils.lift(before, from: key) }
    if before == nil { newOrphans += 1 }
    guard let reason = try writer.veils.lay(veil, on: key) else { return true }
    try writer.hold(key, reason == .unique ? .unique : .parent, adding: [:])
    return true
  }

  /// Shows a row that is not in its table, veiled where it is to be.
  ///
  /// - Returns: why the table refuses it, and what the state has of it.
  func show(_ row: WaitingRow, _ writer: TableWriter, folded winner: [UInt8]? = nil) throws
    -> (reason: HeldReason, content: [String: SQLiteValue])?
  {
    guard var refused = try writer.show(row.key, content: row.content, folded: winner) else {
      try transaction.held.drop(in: .held, row.sql.shape.id, row.key)
      if let veil = row.veil { try writer.veils.note(veil, on: row.key) }
      return nil
    }
    guard let veil = row.veil else { return refused }
    for column in veil.columns { refused.content[column.name] = column.held }
    if refused.reason == .constraint { refused.reason = .parent }
    return refused
  }
}
