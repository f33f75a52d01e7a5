import TernCore
import TernDatabase

/// One row as the operations in the log speak of it.
struct LoggedRow {
  let shape: TableShape
  let key: [SQLiteValue]
  /// The key as it stands in every body that names the row, byte for byte. An operation without
  /// these bytes is passed over unread.
  let packedKey: [UInt8]

  struct Change {
    let kind: RowChange.Kind
    let life: UInt32
    let columns: [Column]
    /// Whether the state takes nothing of it, because the author's table is another.
    let isDeferred: Bool
  }

  struct Column {
    /// Among the shape's columns; `nil` where those do not have it.
    let target: Int?
    let name: String
    let rule: UInt8
    let content: WriteContent
  }

  init(_ shape: TableShape, key: [SQLiteValue]) throws(RowLookupError) {
    let names = shape.keyColumns.joined(separator: ", ")
    guard key.count == shape.keyColumns.count else {
      throw RowLookupError(
        .wrongKey, table: shape.name,
        "its key has \(shape.keyColumns.count) columns (\(names)), and \(key.count) values were "
          + "given; give one for each, in this order")
    }
    guard !key.contains(.null) else {
      throw RowLookupError(.wrongKey, table: shape.name, "no key (\(names)) holds NULL")
    }
    self.shape = shape
    self.key = key
    packedKey = PackedKey.bytes(of: key)
  }

  /// What an operation says of the row; mostly one change, and two where it was written and then
  /// deleted.
  ///
  /// - Throws: ``WireError``.
  func changes(in body: UnsafeRawBufferPointer) throws -> [Change] {
    var changes: [Change] = []
    var reader = BodyReader(body)
    var row = BodyRow()
    while let block = try reader.nextBlock() {
      let isTable =
        shape.isNamed(block.table) && block.keyColumns.count == shape.keyColumns.count
      let isMerged = shape.holdsRows(of: block)
      let targets = isTable && isMerged ? shape.mapping(of: block).targets : []
      while try reader.nextRow(&row, of: block) {
        guard isTable, row.packedKey.count == packedKey.count,
          row.packedKey.elementsEqual(packedKey)
        else { continue }
        changes.append(
          Change(
            kind: row.kind, life: row.life,
            columns: try columns(of: row, block, targets: targets), isDeferred: !isMerged))
      }
    }
    return changes
  }

  private func columns(of row: BodyRow, _ block: BodyBlock, targets: [Int?]) throws -> [Column] {
    try row.values.indices.filter { row.isCarried[$0] }.map { index in
      let target = targets.isEmpty ? nil : targets[index]
      return Column(
        target: target, name: target.map { shape.columns[$0].name } ?? block.columns[index].name,
        rule: block.columns[index].rule,
        content: try WriteContent(row.values[index], rule: block.columns[index].rule))
    }
  }
}
