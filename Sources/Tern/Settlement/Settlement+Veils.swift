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
        // Without a state it is a row that is too large to travel, or a migration brought.
        guard let shown = try writer.readShown(key), try writer.state(of: key)?.isShown ?? true
        else {
          try writer.veils.drop(key)
          continue
        }
        if try parents.veil(over: laid.lifted(from: shown), of: key, sql) != laid {
          try writer.veils.lift(laid, from: key, showing: shown)
        }
      }
    }
  }

  enum Laid {
    case veiled
    /// It is quarantined, for its table refuses the veil.
    case refused
    /// Nothing was done: no veil gives it a parent, or none is due.
    case nothing
  }

  /// Veils a row in its table.
  func lay(on key: [UInt8], _ writer: TableWriter) throws -> Laid {
    guard try parents.isVeilable(writer.sql), let shown = try writer.readShown(key) else {
      return .nothing
    }
    let before = try writer.veil(of: key)
    let content = before?.lifted(from: shown) ?? shown
    guard let veil = try parents.veil(over: content, of: key, writer.sql) else { return .nothing }
    // What it shows has no parent either.
    if before == veil { return .nothing }
    // At once, for the table may refuse what the state has.
    let lifted = before?.columns.reduce(into: [:]) { $0[$1.name] = content[$1.name] } ?? [:]
    guard let reason = try writer.veils.lay(veil, on: key, over: lifted) else {
      if before == nil { newOrphans += 1 }
      return .veiled
    }
    try writer.hold(key, reason == .unique ? .unique : .parent, adding: [:])
    return .refused
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
    refused.content = veil.lifted(over: refused.content)
    if refused.reason == .constraint { refused.reason = .parent }
    return refused
  }
}
