import TernCore
import TernDatabase

/// Rows that point to another without having been folded: a table that syncs anew has them, and an
/// app that copies a row with all its columns. The next settlement sees to them.
struct PointedRows {
  let transaction: StoreTransaction

  /// - Parameter isNoted: of the rows that were written since the last seal alone.
  func adopt(_ sql: TableSQL, isNoted: Bool = false) throws {
    for key in try unknown(sql, isNoted: isNoted) {
      try transaction.held.hold(sql.shape.id, key, .folded, content: [:])
    }
  }

  /// Has the next settlement look at the folded rows that collide with another row than the one
  /// that they point to: it may be the earlier one. With one UNIQUE index there is none, for
  /// whatever comes collides with the row that they wait for.
  func wake(_ sql: TableSQL) throws {
    if Planted.isActive(.foldedUnsought) { return }
    guard let pointer = sql.shape.pointer, sql.shape.uniques.count > 1,
      try transaction.held.hasRows()
    else { return }
    let key = sql.shape.keyColumns[0].quoted
    let table = sql.shape.qualifiedName
    let others = sql.shape.uniques.compactMap(\.computed).map { index in
      let matches = index.matches("r", "l") + ["r.\(key) IS NOT l.\(pointer.quoted)"]
      return "EXISTS (SELECT 1 FROM \(table) AS r WHERE \(matches.joined(separator: " AND ")))"
    }
    let collides = try transaction.statement(
      "SELECT 1 FROM \(table) AS l WHERE l.\(key) = ?1 AND (\(others.joined(separator: " OR ")))")
    // One by one, since the table may be large, and few of its rows are folded.
    for folded in try transaction.held.foldedKeys(of: sql.shape.id) {
      collides.bind(1, copy: try folded.withUnsafeBytes { try PackedKey.values($0)[0] })
      if try collides.first({}) != nil { try transaction.held.wake(sql.shape.id, folded) }
    }
  }

  func unknown(_ sql: TableSQL, isNoted: Bool = false) throws -> [[UInt8]] {
    guard let pointer = sql.shape.pointer else { return [] }
    let key = sql.shape.keyColumns[0].quoted
    let noted = isNoted ? "AND \(key) IN (SELECT k0 FROM \(sql.note.noteTable))" : ""
    let select = try transaction.statement(
      "SELECT \(key) FROM \(sql.shape.qualifiedName) WHERE \(pointer.quoted) IS NOT NULL \(noted)")
    var keys: [[UInt8]] = []
    try select.each { keys.append(select.packedKey(sql.shape)) }
    return try keys.filter {
      try transaction.held.reason(of: RowID(table: sql.shape.id, key: $0)) == nil
    }
  }
}
