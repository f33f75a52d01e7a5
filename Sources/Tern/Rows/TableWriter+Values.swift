import TernCore
import TernDatabase

extension TableWriter {
  func state(of key: [UInt8]) throws -> RowState? {
    let read = try transaction.statement(sql.readState)
    _ = try bind(key, to: read)
    return try read.state()
  }

  /// Whether the row in the table holds what writing `value` there would leave, or would but for
  /// its veil.
  func shows(_ value: SQLiteValue, in column: String, of key: some ContiguousBytesLike) throws
    -> Bool
  {
    if let veil = try veil(of: key), let shown = try readShown(key),
      let veiled = veil.columnsShown(in: shown).first(where: { $0.name == column })
    {
      return veiled.held == value
    }
    let keys = sql.shape.keyColumns.enumerated().map { "\($1.quoted) = ?\($0 + 1)" }
    let select = try transaction.statement(
      "SELECT \(column.quoted) IS ?\(keys.count + 1) COLLATE BINARY FROM \(sql.shape.qualifiedName) "
        + "WHERE \(keys.joined(separator: " AND "))")
    let count = try bind(key, to: select)
    select.bind(Int32(count + 1), copy: value)
    defer { select.reset() }
    return try select.step() && select.int64(0) != 0
  }
}

extension TableShape {
  /// What columns hold whose value is made of several writes.
  func computed(of state: RowState) -> [String: SQLiteValue] {
    columns.reduce(into: [:]) { values, column in
      if let value = state.computed(UInt32(column.id)) { values[column.name] = value }
    }
  }
}
