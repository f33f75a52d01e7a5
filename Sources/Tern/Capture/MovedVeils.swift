import TernCore
import TernDatabase

/// The veils of rows whose keys were changed: each is the delete of a row and the insert of another
/// that shows the same.
struct MovedVeils {
  /// By key, what the row that came there brought along.
  private var incoming: [[UInt8]: Veil?] = [:]
  private var outgoing: Set<[UInt8]> = []

  init(_ transaction: StoreTransaction, _ sql: TableSQL) throws {
    guard sql.note.notesMoves, try transaction.veils.hasRows() else { return }
    let select = try transaction.statement(sql.movedKeys)
    let count = Int32(sql.shape.keyColumns.count)
    try select.each {
      let former = PackedKey.bytes(of: (0..<count).map { select.value($0).inKey.value! })
      let key = PackedKey.bytes(of: (count..<2 * count).map { select.value($0).inKey.value! })
      let laid = outgoing.contains(former) ? nil : try transaction.veils.veil(of: former, sql.shape)
      // One that was moved before in this seal has it from there.
      incoming[key] = .some(incoming[former] ?? laid)
      outgoing.insert(former)
    }
  }

  /// - Returns: `nil` where the row under the key is the one that was there.
  func veil(of key: [UInt8], exists: Bool) -> Veil?? {
    if let veil = incoming[key] { return .some(veil) }
    return exists && outgoing.contains(key) ? .some(nil) : nil
  }
}
