import TernCore
import TernDatabase

/// Forgets deleted rows below a horizon: their keys, lives and stamps, and what is kept of those
/// that a change could have brought back.
///
/// Only their last life is remembered, as one number for all: the next row of such a key begins
/// behind it, since another replica may not have forgotten yet, and its delete beats earlier lives.
struct TombstoneTrim {
  private let horizon: HybridTime
  private let sql: [TableSQL]
  private var table = 0
  /// The last key that was looked at; `nil` at a table's beginning.
  private var last: [UInt8]?

  /// How many rows one transaction looks at where each has to be read, and forgets at most.
  private static let rowCount = 1000

  init(_ horizon: HybridTime, _ sql: [TableSQL]) {
    self.horizon = horizon
    self.sql = sql
  }

  /// Forgets some more.
  ///
  /// - Returns: whether there may be others.
  mutating func step(_ transaction: StoreTransaction) throws -> Bool {
    guard table < sql.count else { return false }
    let sql = sql[table]
    let keys =
      sql.shape.deletes.keepsContent
      ? try keptKeys(sql, transaction) : try deletedKeys(sql, transaction)
    try forget(keys, of: sql, transaction)
    if keys.count == Self.rowCount {
      last = keys.last
    } else {
      (table, last) = (table + 1, nil)
    }
    return true
  }

  private func deletedKeys(_ sql: TableSQL, _ transaction: StoreTransaction) throws -> [[UInt8]] {
    let select = try transaction.statement(
      sql.deletedKeys(isFirst: last == nil, limit: Self.rowCount))
    defer { select.reset() }
    let keyCount = sql.shape.keyColumns.count
    if let last {
      for (index, value) in try last.withUnsafeBytes({ try PackedKey.values($0) }).enumerated() {
        select.bind(Int32(index + 1), copy: value)
      }
    }
    select.bind(Int32(keyCount + 1), raw: horizon.rawValue)
    var keys: [[UInt8]] = []
    while try select.step() { keys.append(select.packedKey(sql.shape)) }
    return keys
  }

  private func keptKeys(_ sql: TableSQL, _ transaction: StoreTransaction) throws -> [[UInt8]] {
    let select = try transaction.statement(
      "SELECT key FROM \(transaction.tables.kept) WHERE tbl = ? AND key > ? ORDER BY key "
        + "LIMIT \(Self.rowCount)")
    defer { select.reset() }
    var keys: [[UInt8]] = []
    try (last ?? []).withUnsafeBytes { key in
      select.bind(1, sql.shape.id)
      select.bind(2, blob: key)
      while try select.step() { keys.append(Array(select.blob(0))) }
    }
    return keys
  }

  private func forget(_ keys: [[UInt8]], of sql: TableSQL, _ transaction: StoreTransaction) throws {
    let read = try transaction.statement(sql.readState)
    let drop = try transaction.statement(sql.dropState)
    var floor = transaction.lifeFloor
    for key in keys {
      for (index, value) in try key.withUnsafeBytes({ try PackedKey.values($0) }).enumerated() {
        read.bind(Int32(index + 1), copy: value)
        drop.bind(Int32(index + 1), copy: value)
      }
      let state = try read.step() ? try transaction.state(in: read, from: 0) : nil
      read.reset()
      guard let state, let deletion = state.deletionTime,
        deletion <= horizon
      else { continue }
      // The life that the row would come back in begins behind it.
      let life = state.isAlive ? state.life + 1 : state.life
      guard life <= SnapshotHeading.greatestFloor else { continue }
      floor = max(floor, life)
      try drop.run()
      try transaction.dropContent(in: .kept, sql.shape.id, key)
    }
    guard floor != transaction.lifeFloor else { return }
    transaction.lifeFloor = floor
    try transaction.saveHorizon()
  }
}
