import GRDB
import TernCore
import TernDatabase

/// What is done about the inbox's entries, as writes of this device.
struct InboxWriter {
  let transaction: StoreTransaction

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Runs a statement as the app would.
  func write(_ statement: String, _ values: [SQLiteValue], _ sql: TableSQL) throws {
    let write = try transaction.statement(statement)
    for (index, value) in values.enumerated() { write.bind(Int32(index + 1), copy: value) }
    try transaction.notes.withoutCounting(sql) { try write.run() }
    try transaction.notifyWrite(to: sql.shape)
  }

  /// Has the seal find some columns of a row written by this device.
  func noteWrite(of columns: Set<String>, _ key: [SQLiteValue], _ sql: TableSQL) throws {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    try writer.veils.noteWrite(of: columns, PackedKey.bytes(of: key))
  }

  /// Keys for messages.
  func list(_ keys: [[UInt8]]) throws -> String {
    try keys.map { "\(try $0.withUnsafeBytes { try PackedKey.values($0) })" }
      .joined(separator: ", ")
  }
}
