import TernCore
import TernDatabase

/// What rows hold and do not show whose keys were changed: the delete of one, and the insert of
/// another that shows the same.
struct MovedVeils {
  private(set) var byKey: [[UInt8]: Veil] = [:]

  init(_ transaction: StoreTransaction, _ sql: TableSQL) throws {
    guard sql.note.notesMoves, try transaction.veils.hasRows() else { return }
    let select = try transaction.statement(sql.movedKeys)
    let count = Int32(sql.shape.keyColumns.count)
    try select.each {
      // One that was moved before in this seal has it from there.
      let former = PackedKey.bytes(of: (0..<count).map { select.value($0).inKey.value! })
      let veil = try byKey[former] ?? transaction.veils.veil(of: former, sql.shape)
      let key = PackedKey.bytes(of: (count..<2 * count).map { select.value($0).inKey.value! })
      byKey[key] = veil
    }
  }
}
