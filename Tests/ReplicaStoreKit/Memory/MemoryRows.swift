import Tern

/// One synced table in memory: its rows as the app sees them, and their merged state.
struct MemoryRows: Sendable {
  let shape: MemoryShape
  /// By packed key.
  var rows: [[UInt8]: Row] = [:]
  /// Keys that local writes touched, in order, and the columns they wrote.
  var notes: [Note] = []
  /// Written columns of rows that no operation can hold, by key.
  var large: [[UInt8]: Set<Int>] = [:]

  struct Row: Sendable {
    var state: RowState?
    /// The state's values, in the order of the shape's columns; those of a row whose insert did
    /// not arrive yet wait here.
    var content: [SQLiteValue]
    /// The row as it stands in the table, with local writes that are not sealed yet.
    var shown: [SQLiteValue]?
    /// What a row held that was deleted and not sealed yet.
    var gone: [SQLiteValue]?
    /// Whether it is in the state and not in its table, and whether it was when it was written here.
    var isHeld = false
    var wasHeld = false
  }

  struct Note: Sendable {
    var key: [UInt8]
    var columns: Set<Int>
    var milliseconds: Int64
  }

  init(shape: MemoryShape) {
    self.shape = shape
  }

  var defaults: [SQLiteValue] {
    shape.columns.map { column in
      switch column.rule {
      case .counter: 0
      case .set: "[]"
      case .text: ""
      default: .null
      }
    }
  }

  func row(_ key: [UInt8]) -> Row {
    rows[key] ?? Row(state: nil, content: defaults, shown: nil)
  }

  func packed(_ values: [SQLiteValue]) -> [UInt8] { PackedKey.bytes(of: values) }

  func unpacked(_ key: [UInt8]) throws -> [SQLiteValue] {
    try key.withUnsafeBytes { try PackedKey.values($0) }
  }

  func named(_ key: [UInt8], _ values: [SQLiteValue]) throws -> [String: SQLiteValue] {
    let columns = zip(shape.columns.map(\.name), values)
    return Dictionary(
      uniqueKeysWithValues: Array(zip(shape.keyColumns, try unpacked(key))) + columns)
  }
}
