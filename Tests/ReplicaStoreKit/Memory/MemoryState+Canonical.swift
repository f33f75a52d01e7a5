import Tern

extension MemoryState {
  /// The whole state, tables by name and rows by key.
  func canonicalState() throws -> [CanonicalRow] {
    try tables.sorted { $0.shape.name < $1.shape.name }.flatMap { table in
      try table.rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.compactMap { key, row in
        guard let state = row.state else { return nil }
        return CanonicalRow(
          table: table.shape.name, key: try table.unpacked(key), life: state.life,
          time: state.stamp.time,
          author: state.stamp == .zero ? nil : authors.ids[Int(state.stamp.author)],
          isDeleted: !state.isPresent, cells: cells(state, table.shape, row.content),
          isShown: row.shown != nil)
      }
    }
  }

  private func cells(_ state: RowState, _ shape: MemoryShape, _ content: [SQLiteValue])
    -> [String: CanonicalCell]
  {
    guard state.isAlive else { return [:] }
    var cells: [String: CanonicalCell] = [:]
    for (index, column) in shape.columns.enumerated() {
      guard let stamp = state.stamp(of: UInt32(index)) else { continue }
      cells[column.name] = CanonicalCell(
        value: state.computed(UInt32(index)) ?? content[index], time: stamp.time,
        author: authors.ids[Int(stamp.author)])
    }
    return cells
  }
}
