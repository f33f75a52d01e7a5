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
