import TernCore
import TernDatabase

/// The states of the rows of all synced tables.
struct StateTable {
  private let connection: StoreConnection
  private var scratch = ByteWriter()

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  /// The state of a row; `nil` where there is none.
  func state(of key: [SQLiteValue], _ sql: TableSQL) throws -> RowState? {
    let read = try connection.statement(sql.readState)
    for (index, value) in key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    return try read.state()
  }

  mutating func put(_ state: RowState, of key: [SQLiteValue], _ sql: TableSQL) throws {
    let put = try connection.statement(sql.putState)
    for (index, value) in key.enumerated() { put.bind(Int32(index + 1), copy: value) }
    try run(put, state, keyCount: key.count)
  }

  /// Binds a state behind a key of `keyCount` values and runs the statement.
  ///
  /// - Returns: whether a row changed; inserting changes none where a state stands already.
  @discardableResult
  mutating func run(_ statement: FastStatement, _ state: RowState, keyCount: Int) throws -> Bool {
    scratch.removeAll()
    if !state.cells.isEmpty { state.appendCells(to: &scratch) }
    return try scratch.bytes.withUnsafeBytes { cells in
      statement.bind(
        Int32(keyCount), life: state.life, stamp: state.stamp, covered: state.covered, cells: cells)
      return try statement.runCounting()
    }
  }
}

extension FastStatement {
  /// Runs a statement that yields one state at most.
  func state() throws -> RowState? {
    defer { reset() }
    return try step() ? try state(from: 0) : nil
  }

  /// Reads the state that stands in this row from `column` on; `nil` where there is none.
  func state(from column: Int32) throws -> RowState? {
    if isNull(column) { return nil }
    let cells = isNull(column + 4) ? [] : try RowState.readCells(blob(column + 4))
    return RowState(
      life: UInt32(truncatingIfNeeded: int64(column)),
      stamp: Stamp(
        time: HybridTime(rawValue: raw(column + 1)),
        author: UInt32(truncatingIfNeeded: int64(column + 2))),
      covered: UInt32(truncatingIfNeeded: int64(column + 3)), cells: cells)
  }

  /// Binds a state behind parameter `first`; cells that are empty as NULL.
  func bind(
    _ first: Int32, life: UInt32, stamp: Stamp, covered: UInt32, cells: UnsafeRawBufferPointer
  ) {
    bind(first + 1, Int64(life))
    bind(first + 2, raw: stamp.time.rawValue)
    bind(first + 3, Int64(stamp.author))
    bind(first + 4, Int64(covered))
    if cells.isEmpty {
      bindNull(first + 5)
    } else {
      bind(first + 5, blob: cells)
    }
  }
}

extension RowState {
  /// The state that a row is written on top of, as long as that row is there.
  var ifPresent: RowState? { isPresent ? self : nil }

  /// The delete by which the row is deleted.
  var deletion: Stamp? {
    if isDeleted { return presence?.deletion }
    return isAlive ? nil : stamp
  }
}
