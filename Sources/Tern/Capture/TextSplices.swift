import TernCore
import TernDatabase

/// What drafts did to texts, from their save to the seal.
///
/// They only say how a text became what its column holds. Where something else wrote to the column
/// as well, they don't lead there, and the difference is taken.
extension StoreTransaction {
  /// What drafts of a text did that were saved since the last seal, in their order.
  func splices(of row: [UInt8], _ column: Int, _ table: Int64) throws -> [TextDelta] {
    let select = try statement(
      "SELECT delta FROM \(tables.splice) WHERE tbl = ? AND key = ? AND col = ? ORDER BY id")
    defer { select.reset() }
    select.bindAll(table, Value.blob(row), column)
    var deltas: [TextDelta] = []
    while try select.step() { deltas.append(try TextDelta(stored: select.blob(0))) }
    return deltas
  }

  func forgetSplices(_ sql: TableSQL) throws {
    guard sql.shape.columns.contains(where: { $0.rule == .text }) else { return }
    let delete = try statement("DELETE FROM \(tables.splice) WHERE tbl = ?")
    delete.bind(1, sql.shape.id)
    try delete.run()
  }
}
