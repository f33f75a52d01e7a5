import TernCore
import TernDatabase

/// What rows held when they were deleted, from the trigger to the seal: only of tables where a
/// change may bring them back.
extension StoreTransaction {
  /// Keeps what the row of a local delete held, local columns included.
  func keepGone(_ sql: TableSQL, _ row: NotedRow, _ state: RowState) throws {
    let read = try statement(sql.readGone)
    for (index, value) in row.key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    var content: [String: Value] = [:]
    // A migration may have taken it away without a trigger.
    if try read.step() {
      for (index, column) in sql.note.goneColumns.enumerated() {
        content[column.column] = read.value(Int32(index + 1)).value
      }
    }
    read.reset()
    for column in sql.shape.columns {
      if let value = state.computed(UInt32(column.id)) { content[column.name] = value }
    }
    try held.hold(sql.shape.id, row.packedKey, .deleted, content: content)
  }

  func forgetNotes(_ sql: TableSQL) throws {
    try statement(sql.deleteNotes).run()
    try forgetSplices(sql)
    if sql.shape.deletes.keepsContent { try statement(sql.deleteGone).run() }
  }
}
