import TernCore
import TernDatabase

/// What one operation did to one row, as the merge takes it.
struct LoggedChange {
  let kind: RowChange.Kind
  /// The life that it is about: of a delete, that which it ends.
  let life: UInt32
  /// By place among the shape's columns; those that the schema does not have are left out.
  let columns: [(target: Int, content: Content)]

  enum Content {
    case value(SQLiteValue)
    case difference(Int128)
    case set(SetChange)
    case text(TextChange)

    init(_ value: WireValue, _ rule: MergeRule) throws(WireError) {
      switch rule.kind {
      case .set: self = .set(try SetChange(value.content))
      case .text: self = .text(try TextChange(value.content))
      case .counter: self = .difference(value.wide ?? 0)
      case .lastWriter, .order, .maximum, .minimum: self = .value(value.value ?? .null)
      }
    }
  }
}

extension LoggedChange {
  /// Gives the changes of an operation's body to rows of the tables.
  ///
  /// - Parameters:
  ///   - isWanted: asked before a row's columns are decoded.
  ///   - unknown: takes the names of other tables.
  /// - Throws: ``WireError``.
  static func forEach(
    in body: UnsafeRawBufferPointer, of sql: [TableSQL], isWanted: (RowID) -> Bool,
    _ visit: (RowID, LoggedChange) throws -> Void, unknown: (String) -> Void = { _ in }
  ) throws {
    var reader = BodyReader(body)
    var row = BodyRow()
    while let block = try reader.nextBlock() {
      let shape = sql.first { $0.shape.holdsRows(of: block) }?.shape
      if shape == nil { unknown(block.table) }
      let targets = shape?.mapping(of: block).targets ?? []
      while try reader.nextRow(&row, of: block) {
        guard let shape else { continue }
        let id = RowID(table: shape.id, key: Array(row.packedKey))
        guard isWanted(id) else { continue }
        var columns: [(target: Int, content: LoggedChange.Content)] = []
        for (index, target) in targets.enumerated() where index < row.values.count {
          guard let target, row.isCarried[index] else { continue }
          columns.append(
            (target, try LoggedChange.Content(row.values[index], shape.columns[target].rule)))
        }
        try visit(
          id,
          LoggedChange(
            kind: row.kind, life: row.kind == .delete ? row.life - 1 : row.life, columns: columns))
      }
    }
  }
}
