import TernCore
import TernDatabase

/// States on their way into their table, until there are enough of them for one statement.
///
/// What was put is not there to be read before ``flush()``: ask ``mayHold(_:)`` first.
struct StateBatch: ~Copyable {
  private struct Row {
    var life: UInt32
    var stamp: Stamp
    var covered: UInt32
    /// Empty for none.
    var cells: UnsafeRawBufferPointer
  }

  private let transaction: StoreTransaction
  private let sql: TableSQL
  private let keyCount: Int
  private let one: FastStatement
  private var many: FastStatement?
  private var rows: [Row] = []
  private var keys: [WireValue] = []
  private var hashes: [UInt64] = []
  private var cells = ByteWriter()
  /// Keys and cells, which a statement reads where they are.
  private let store = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 8)
  private var used = 0

  init(_ transaction: StoreTransaction, _ sql: TableSQL) throws {
    self.transaction = transaction
    self.sql = sql
    keyCount = sql.shape.keyColumns.count
    one = try transaction.statement(sql.putState)
  }

  deinit { store.deallocate() }

  /// Whether a state may wait here that was put under a key of that ``KeyHash``.
  func mayHold(_ hash: UInt64) -> Bool { hashes.contains(hash) }

  /// - Parameters:
  ///   - key: copied.
  ///   - hash: of the packed key.
  mutating func put(_ state: RowState, key: [WireValue], hash: UInt64) throws {
    if cells.count > 0 { cells.removeAll() }
    if !state.cells.isEmpty { state.appendCells(to: &cells) }
    var count = cells.count
    for value in key { count += value.content.count }
    if used + count > store.count { try flush() }
    if count > store.count {
      for (index, value) in key.enumerated() { one.bind(Int32(index + 1), value) }
      try transaction.states.run(one, state, keyCount: keyCount)
      return
    }
    for value in key {
      keys.append(WireValue(value.tag, bits: value.bits, content: kept(value.content)))
    }
    rows.append(
      Row(
        life: state.life, stamp: state.stamp, covered: state.covered,
        cells: keptCells()))
    hashes.append(hash)
    if rows.count == sql.batchRows { try flush() }
  }

  private mutating func kept(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let place = UnsafeMutableRawBufferPointer(rebasing: store[used..<used + bytes.count])
    place.copyMemory(from: bytes)
    used += bytes.count
    return UnsafeRawBufferPointer(place)
  }

  private mutating func keptCells() -> UnsafeRawBufferPointer {
    if cells.count == 0 { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let bytes = cells.bytes
    return bytes.withUnsafeBytes { kept($0) }
  }

  /// Writes what waits.
  mutating func flush() throws {
    if rows.isEmpty { return }
    if rows.count == sql.batchRows, rows.count > 1 {
      let statement = try many ?? transaction.statement(sql.putStates)
      many = statement
      for index in rows.indices { bind(index, to: statement, at: index * (keyCount + 5)) }
      try statement.run()
    } else {
      for index in rows.indices {
        bind(index, to: one, at: 0)
        try one.run()
      }
    }
    rows.removeAll(keepingCapacity: true)
    keys.removeAll(keepingCapacity: true)
    hashes.removeAll(keepingCapacity: true)
    used = 0
  }

  private func bind(_ index: Int, to statement: FastStatement, at offset: Int) {
    for key in 0..<keyCount {
      statement.bind(Int32(offset + key + 1), keys[index * keyCount + key])
    }
    let row = rows[index]
    let first = Int32(offset + keyCount)
    statement.bind(
      first, life: row.life, stamp: row.stamp, covered: row.covered, cells: row.cells)
  }
}
