import TernCore
import TernDatabase

/// Rows that lose in UNIQUE, of tables that fold: each stays in its table and points to the
/// earliest of the rows that have the places it would have. A pointer is no reference, so that
/// nothing depends on it but what this says.
extension Settlement {
  /// Tries whether a folded row collides with none any more.
  func unfoldIfAlone(_ row: RowID, _ writer: TableWriter) throws {
    // It is deleted, or rows are folded in its table no longer.
    guard writer.folds, try writer.state(of: row.key)?.isShown ?? true,
      let content = try writer.readShown(row.key)
    else { return try writer.veils.noteUnfolded(row.key) }
    if try writer.point(row.key, to: nil) == nil { return try writer.veils.noteUnfolded(row.key) }
    waiting[row] = WaitingRow(
      sql: writer.sql, key: row.key, content: content, creation: try writer.creation(of: row.key),
      isFolded: true)
  }

  /// A row has won its places, and those that it lost them to point to it.
  func unfold(_ row: WaitingRow, _ writer: TableWriter) throws {
    if let reason = try writer.point(row.key, to: nil) {
      try writer.hold(row.key, reason, adding: [:])
    } else {
      try writer.veils.noteUnfolded(row.key)
    }
  }

  /// - Returns: whether the row is in its table, and not kept out by something else than UNIQUE.
  @discardableResult
  func fold(_ row: WaitingRow, into winner: [UInt8], _ writer: TableWriter) throws -> Bool {
    // Most that are looked at again stay so, which is no write for triggers and observers.
    if try row.isFolded && writer.pointer(of: row.key) == winner { return true }
    if try row.isFolded || writer.readShown(row.key) != nil {
      if let reason = try writer.point(row.key, to: winner) {
        try writer.hold(row.key, reason, adding: [:])
        return false
      }
    } else if let refusal = try show(row, writer, folded: winner) {
      try writer.hold(row.key, refusal.reason, adding: refusal.content)
      return false
    }
    try transaction.held.hold(row.sql.shape.id, row.key, .folded, content: [:])
    return true
  }

  /// Has every folded row that was looked at point to the earliest of those that have its places,
  /// now that those stand for good. One that has none is quarantined, because the row that had them
  /// lost its parent.
  ///
  /// - Returns: whether any is.
  func settlePointers() throws -> Bool {
    if Planted.isActive(.pointersLeft) { return false }
    var hasHeld = false
    for sql in transaction.sql where sql.shape.pointer != nil {
      guard try transaction.held.hasRows() else { return hasHeld }
      let writer = try writer(sql)
      for key in try transaction.held.unsettledKeys(sql.shape.id) {
        let row = RowID(table: sql.shape.id, key: key)
        guard try transaction.held.reason(of: row) == .folded else { continue }
        if let content = try writer.readShown(key) {
          let winner = try RivalSearch(writer: writer).winner(over: key, content: content)
          if let winner, try writer.pointer(of: key) == winner { continue }
          var refusal: HeldReason? = .unique
          if let winner { refusal = try writer.point(key, to: winner) }
          guard let refusal else { continue }
          try writer.hold(key, refusal, adding: [:])
          hasHeld = true
        } else {
          try writer.veils.noteUnfolded(key)
        }
      }
    }
    return hasHeld
  }
}
