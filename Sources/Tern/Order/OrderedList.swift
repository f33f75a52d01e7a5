import GRDB
import TernCore
import TernDatabase

/// The rows of one list as they stand in their table: by the order column's bytes, then by key.
struct OrderedList {
  let db: Database
  let shape: TableShape
  let column: String
  /// Columns that tell this list's rows from those of others in the table.
  let scope: [(column: String, value: SQLiteValue)]
  /// The row that is placed, and is no neighbour of itself.
  let moving: [SQLiteValue]?

  /// A row beside the place.
  struct Neighbour {
    let key: [SQLiteValue]
    let position: SQLiteValue

    var orderKey: OrderKey? {
      if case .text(let bytes) = position { OrderKey(bytes: bytes) } else { nil }
    }
  }

  private var keyNames: String { shape.keyColumns.map(\.quoted).joined(separator: ", ") }
  private var keyMarks: String { shape.keyColumns.map { _ in "?" }.joined(separator: ", ") }

  /// The row with a key, in this list or not.
  func row(_ key: [SQLiteValue]) throws -> Neighbour? {
    try fetch(
      "(\(keyNames)) = (\(keyMarks))", key, isForward: true, limit: 1, isInList: false
    ).first
  }

  /// Up to `limit` rows from an end of the list, the nearest to it first.
  func rows(fromStart isForward: Bool, limit: Int) throws -> [Neighbour] {
    try fetch("1", [], isForward: isForward, limit: limit)
  }

  /// Up to `limit` rows behind or before a row, the nearest first.
  func rows(from row: Neighbour, isForward: Bool, limit: Int) throws -> [Neighbour] {
    let sign = isForward ? ">" : "<"
    // Two searches, so that an index serves each.
    var rows = try fetch(
      "\(column.quoted) IS ? AND (\(keyNames)) \(sign) (\(keyMarks))", [row.position] + row.key,
      isForward: isForward, limit: limit)
    if rows.count == limit { return rows }
    // NULL comes before everything, and no comparison says so.
    if row.position != .null {
      rows += try fetch(
        "\(column.quoted) \(sign) ?", [row.position], isForward: isForward,
        limit: limit - rows.count)
      guard !isForward, rows.count < limit else { return rows }
      rows += try fetch(
        "\(column.quoted) IS NULL", [], isForward: false, limit: limit - rows.count)
    } else if isForward {
      rows += try fetch(
        "\(column.quoted) IS NOT NULL", [], isForward: true, limit: limit - rows.count)
    }
    return rows
  }

  private func fetch(
    _ condition: String, _ values: [SQLiteValue], isForward: Bool, limit: Int, isInList: Bool = true
  ) throws -> [Neighbour] {
    var (conditions, bound) = ([condition], values)
    if isInList {
      for (column, value) in scope {
        conditions.append("\(column.quoted) IS ?")
        bound.append(value)
      }
      if let moving {
        conditions.append("NOT ((\(keyNames)) = (\(keyMarks)))")
        bound += moving
      }
    }
    let direction = isForward ? "ASC" : "DESC"
    let order = ([column] + shape.keyColumns).map { "\($0.quoted) \(direction)" }
    let select = try FastStatement(
      db,
      """
      SELECT \(column.quoted), \(keyNames) FROM \(shape.qualifiedName)
      WHERE \(conditions.joined(separator: " AND "))
      ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit)
      """)
    for (index, value) in bound.enumerated() { select.bind(Int32(index + 1), copy: value) }
    defer { select.reset() }
    var rows: [Neighbour] = []
    while try select.step() {
      rows.append(
        Neighbour(
          key: shape.keyColumns.indices.map { select.value(Int32($0 + 1)).value ?? .null },
          position: select.value(0).value ?? .null))
    }
    return rows
  }

  /// Writes a row's position as any statement of the app's: captured, and told to observers.
  func write(_ orderKey: OrderKey, to key: [SQLiteValue]) throws {
    let match = shape.keyColumns.map { "\($0.quoted) = ?" }
    try db.runBound(
      "UPDATE \(shape.qualifiedName) SET \(column.quoted) = ? "
        + "WHERE \(match.joined(separator: " AND "))",
      [SQLiteValue.string(orderKey.text)] + key)
  }
}
