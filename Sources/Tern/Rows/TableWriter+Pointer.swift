import TernCore
import TernDatabase

/// The column by which rows are folded.
extension TableWriter {
  var folds: Bool { sql.shape.pointer != nil }

  /// Has a row in its table point to another, or to none.
  ///
  /// - Returns: why the table refuses that.
  func point(_ key: [UInt8], to other: [UInt8]?) throws -> HeldReason? {
    if let reason = try put(key, sql.shape.pointing(to: other), .update) { return reason }
    try noteWritten(key)
    return nil
  }

  /// The key of the row that another points to.
  func pointer(of key: [UInt8]) throws -> [UInt8]? {
    guard let pointer = sql.shape.pointer else { return nil }
    let key0 = sql.shape.keyColumns[0].quoted
    let read = try transaction.statement(
      "SELECT \(pointer.quoted) FROM \(sql.shape.qualifiedName) WHERE \(key0) = ?1 "
        + "AND \(pointer.quoted) IS NOT NULL")
    _ = try bind(key, to: read)
    defer { read.reset() }
    return try read.step() ? PackedKey.bytes(of: [read.value(0).inKey.value ?? .null]) : nil
  }
}

extension TableShape {
  /// What a row has that points to another, or to none.
  func pointing(to other: [UInt8]?) throws -> [String: SQLiteValue] {
    guard let pointer else { return [:] }
    return [
      pointer: try other.map { try $0.withUnsafeBytes { try PackedKey.values($0)[0] } } ?? .null
    ]
  }
}
