import TernCore
import TernDatabase

/// Writes what is planned for rows, all of it or nothing, and plans anew what proves impossible.
struct UndoWriting {
  let transaction: StoreTransaction

  /// - Parameter plans: of all rows, made before any of them is written: a cascade must not look
  ///   like somebody else's delete.
  /// - Returns: what became of them.
  func run(_ rows: [UndoRow], _ plans: [UndoRow.Plan]) throws -> [UndoRow.Plan] {
    // Whatever the order, a child finds its parent at the end.
    try transaction.db.execute(sql: "PRAGMA defer_foreign_keys = ON")
    var plans = plans
    while try !isWritten(rows, &plans) {}
    return plans
  }

  /// Writes what is planned, or nothing, and plans anew.
  private func isWritten(_ rows: [UndoRow], _ plans: inout [UndoRow.Plan]) throws -> Bool {
    try keepParents(rows, &plans)
    let writes = zip(rows, plans).reversed().compactMap { row, plan in
      plan.write.map { (write: $0, row: row) }
    }
    var isWhole = false
    try transaction.connection.inSavepoint {
      var writer = UndoWriter(transaction, writes)
      let kept = Dictionary(uniqueKeysWithValues: try writer.run().map { ($0.row.id, $0.reason) })
      for (index, row) in rows.enumerated() {
        if let reason = kept[row.id] { plans[index] = row.left(reason) }
      }
      isWhole = try kept.isEmpty && !leaveOrphans(rows, &plans)
      return isWhole ? .commit : .rollback
    }
    return isWhole
  }
}
