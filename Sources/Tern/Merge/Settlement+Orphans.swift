import TernCore
import TernDatabase

/// Tells children of deleted parents from those whose parents have not come, and puts each into the
/// inbox once.
///
/// The declared action is not a write of anybody's, so it makes no operation: the child stays in
/// the state as it is, and is shown again when its parent is.
extension Settlement {
  /// The rows that are held aside for a deleted parent, before this settlement looks at them again.
  func knownOrphans() throws -> Set<RowID> {
    guard try transaction.hasHeldRows() else { return [] }
    let select = try transaction.statement(
      "SELECT tbl, key FROM \(transaction.tables.held) WHERE reason = '\(HeldReason.orphaned)'")
    defer { select.reset() }
    var known: Set<RowID> = []
    while try select.step() {
      known.insert(RowID(table: select.int64(0), key: Array(select.blob(1))))
    }
    return known
  }

  /// Marks the rows held aside of which a parent is deleted, and lists those that were not known.
  func listOrphans(_ known: Set<RowID>) throws {
    if try transaction.hasHeldRows() {
      for sql in transaction.sql where !sql.shape.foreignKeys.isEmpty {
        for key in try transaction.heldKeys(sql.shape.id, .parent) {
          guard let deletion = try parentDeletion(of: key, sql) else { continue }
          try mark(key, sql)
          if known.contains(RowID(table: sql.shape.id, key: key)) { continue }
          try list(key, sql, deletion: deletion)
        }
      }
    }
    if try hadHeld || transaction.hasHeldRows() { try losses.dropStaleOrphans() }
  }

  /// The delete of a row that this one refers to by its key; the latest of several.
  private func parentDeletion(of key: [UInt8], _ sql: TableSQL) throws -> Stamp? {
    guard let content = try transaction.storedContent(in: .held, sql.shape.id, key) else {
      return nil
    }
    let references = try missingReferences(of: key, sql.shape.present(content), sql.shape)
    return references.compactMap(\.deletion).max { transaction.authors.isLess($0, $1) }
  }

  private func mark(_ key: [UInt8], _ sql: TableSQL) throws {
    let update = try transaction.statement(
      "UPDATE \(transaction.tables.held) SET reason = '\(HeldReason.orphaned)' "
        + "WHERE tbl = ? AND key = ?")
    try key.withUnsafeBytes { key in
      update.bind(1, sql.shape.id)
      update.bind(2, blob: key)
      try update.run()
    }
    try transaction.notifyHeld()
  }

  private func list(_ key: [UInt8], _ sql: TableSQL, deletion: Stamp) throws {
    guard let state = try writer(sql).state(of: key),
      let loser = state.latestStamp(authors: transaction.authors),
      let content = try transaction.storedContent(in: .held, sql.shape.id, key)
    else { return }
    newOrphans += 1
    try losses.dropOrphan(sql.shape.id, key)
    try losses.add(
      sql.shape, key, .parentDeleted, sql.shape.present(content), loser: loser, winner: deletion)
  }
}
