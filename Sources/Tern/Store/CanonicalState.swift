import TernCore
import TernDatabase

extension StoreTransaction {
  /// The whole state, tables by name and rows by key.
  func canonicalState() throws -> [CanonicalRow] {
    try sql.sorted { $0.shape.name < $1.shape.name }.flatMap { sql in
      try canonicalRows(sql).sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
  }

  private func canonicalRows(_ sql: TableSQL) throws -> [CanonicalRow] {
    let shape = sql.shape
    let select = try statement("SELECT * FROM \(sql.note.rowTable)")
    let keyCount = Int32(shape.keyColumns.count)
    defer { select.reset() }
    var rows: [CanonicalRow] = []
    let writer = try TableWriter(self, sql, hasHeld: true)
    while try select.step() {
      guard let state = try state(in: select, from: keyCount) else { continue }
      let packed = select.packedKey(shape)
      let shown = try writer.isRemovalRefused(packed) ? nil : writer.read(packed)
      let held = shown == nil ? try writer.aside(packed) : nil
      rows.append(
        CanonicalRow(
          table: shape.name, key: try packed.withUnsafeBytes { try PackedKey.values($0) },
          life: state.life, time: state.stamp.time,
          author: state.stamp == .zero ? nil : authors.ids[Int(state.stamp.author)],
          cells: cells(state, shape, values: shown ?? held ?? [:]), isShown: shown != nil))
    }
    return rows
  }

  private func cells(_ state: RowState, _ shape: TableShape, values: [String: Value])
    -> [String: CanonicalCell]
  {
    guard state.isAlive else { return [:] }
    var cells: [String: CanonicalCell] = [:]
    for column in shape.columns {
      let id = UInt32(column.id)
      guard let stamp = state.stamp(of: id) else { continue }
      let value = state.computed(id) ?? values[column.name] ?? .null
      cells[column.name] = CanonicalCell(
        value: value, time: stamp.time, author: authors.ids[Int(stamp.author)])
    }
    return cells
  }
}
