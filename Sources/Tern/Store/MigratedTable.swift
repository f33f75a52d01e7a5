import TernCore
import TernDatabase

/// Rows that a migration brought, and the own operations that were the first to write to them: in
/// these they stand whole, like fresh inserts, and an undo must not take them away.
struct MigratedTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.migrated }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func note(_ id: Int64, _ key: [UInt8], sequence: UInt64) throws {
    let put = try connection.statement(
      "INSERT OR IGNORE INTO \(table) (tbl, key, sequence) VALUES (?, ?, ?)")
    put.bindAll(id, SQLiteValue.blob(key), Int64(bitPattern: sequence))
    try put.run()
  }

  /// - Parameter first: the sequence of the seal's first operation.
  func forget(_ id: Int64, _ key: [UInt8], from first: UInt64) throws {
    let delete = try connection.statement(
      "DELETE FROM \(table) WHERE tbl = ? AND key = ? AND sequence >= ?")
    delete.bindAll(id, SQLiteValue.blob(key), Int64(bitPattern: first))
    try delete.run()
  }

  /// Those of operations that the log has no more.
  func forget(upTo sequence: UInt64) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE sequence <= ?")
    delete.bind(1, raw: sequence)
    try delete.run()
  }

  func holds(_ id: Int64, _ key: [UInt8], in sequences: ClosedRange<UInt64>) throws -> Bool {
    let select = try connection.statement(
      "SELECT 1 FROM \(table) WHERE tbl = ? AND key = ? AND sequence BETWEEN ? AND ?")
    let (lower, upper) = (sequences.lowerBound, sequences.upperBound)
    select.bindAll(id, SQLiteValue.blob(key), Int64(bitPattern: lower), Int64(bitPattern: upper))
    return try select.first {} != nil
  }
}
