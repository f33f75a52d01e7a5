import TernCore
import TernDatabase

/// The state in terms that mean the same on every replica.
struct CanonicalState {
  let transaction: StoreTransaction

  /// The whole of it, tables by name and rows by key.
  func rows() throws -> [CanonicalRow] {
    try transaction.sql.sorted { $0.shape.name < $1.shape.name }.flatMap { sql in
      try rows(of: sql).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
  }

  private func rows(of sql: TableSQL) throws -> [CanonicalRow] {
    let shape = sql.shape
    let select = try transaction.statement("SELECT * FROM \(sql.note.rowTable)")
    let keyCount = Int32(shape.keyColumns.count)
    defer { select.reset() }
    var rows: [CanonicalRow] = []
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    while try select.step() {
      guard let state = try select.state(from: keyCount) else { continue }
      let packed = select.packedKey(shape)
      let shown = try writer.isRemovalRefused(packed) ? nil : writer.read(packed)
      let held = shown == nil ? try writer.aside(packed) : nil
      rows.append(
        CanonicalRow(
          table: shape.name, key: try packed.withUnsafeBytes { try PackedKey.values($0) },
          life: state.life, time: state.stamp.time,
          author: state.stamp == .zero ? nil : transaction.authors.ids[Int(state.stamp.author)],
          isDeleted: !state.isPresent, cells: cells(state, shape, values: shown ?? held ?? [:]),
          isShown: shown != nil))
    }
    return rows
  }

  private func cells(_ state: RowState, _ shape: TableShape, values: [String: SQLiteValue])
    -> [String: CanonicalCell]
  {
    guard state.isAlive else { return [:] }
    var cells: [String: CanonicalCell] = [:]
    for column in shape.columns {
      let id = UInt32(column.id)
      guard let stamp = state.stamp(of: id) else { continue }
      let value = state.computed(id) ?? values[column.name] ?? .null
      cells[column.name] = CanonicalCell(
        value: value, time: stamp.time, author: transaction.authors.ids[Int(stamp.author)])
    }
    return cells
  }
}
