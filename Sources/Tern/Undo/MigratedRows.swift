import TernCore
import TernDatabase

/// Rows that a migration brought, and the own operations that were the first to write to them: in
/// these they stand whole, like fresh inserts, and an undo must not take them away.
extension StoreTransaction {
  func noteMigrated(_ table: Int64, _ key: [UInt8], sequence: UInt64) throws {
    let put = try statement(
      "INSERT OR IGNORE INTO \(tables.migrated) (tbl, key, sequence) VALUES (?, ?, ?)")
    put.bindAll(table, Value.blob(key), Int64(bitPattern: sequence))
    try put.run()
  }

  /// - Parameter first: the sequence of the seal's first operation.
  func forgetMigrated(_ table: Int64, _ key: [UInt8], from first: UInt64) throws {
    let delete = try statement(
      "DELETE FROM \(tables.migrated) WHERE tbl = ? AND key = ? AND sequence >= ?")
    delete.bindAll(table, Value.blob(key), Int64(bitPattern: first))
    try delete.run()
  }

  /// Those of operations that the log has no more.
  func forgetMigrated(upTo sequence: UInt64) throws {
    let delete = try statement("DELETE FROM \(tables.migrated) WHERE sequence <= ?")
    delete.bind(1, raw: sequence)
    try delete.run()
  }

  func isMigrated(_ table: Int64, _ key: [UInt8], in sequences: ClosedRange<UInt64>) throws -> Bool
  {
    let select = try statement(
      "SELECT 1 FROM \(tables.migrated) WHERE tbl = ? AND key = ? AND sequence BETWEEN ? AND ?")
    let (lower, upper) = (sequences.lowerBound, sequences.upperBound)
    select.bindAll(
      table, Value.blob(key), Int64(bitPattern: lower), Int64(bitPattern: upper))
    defer { select.reset() }
    return try select.step()
  }
}
