import TernCore
import TernDatabase

/// What drafts did to texts, from their save to the seal.
///
/// They only say how a text became what its column holds. Where something else wrote to the column
/// as well, they don't lead there, and the difference is taken.
struct SpliceTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.splice }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  /// What drafts of a text did that were saved since the last seal, in their order.
  func deltas(of row: [UInt8], _ column: Int, _ id: Int64) throws -> [TextDelta] {
    let select = try connection.statement(
      "SELECT delta FROM \(table) WHERE tbl = ? AND key = ? AND col = ? ORDER BY id")
    select.bindAll(id, SQLiteValue.blob(row), column)
    var deltas: [TextDelta] = []
    try select.each { deltas.append(try TextDelta(stored: select.blob(0))) }
    return deltas
  }

  func forget(of id: Int64) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE tbl = ?")
    delete.bind(1, id)
    try delete.run()
  }
}
