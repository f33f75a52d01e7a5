import TernCore
import TernDatabase

/// The column by which rows are folded.
extension TableWriter {
  var folds: Bool { sql.shape.pointer != nil }

  /// Has a row in its table point to another, or to none.
  ///
  /// - Returns: why the table refuses that.
  func point(_ key: [UInt8], to other: [UInt8]?) throws -> HeldReason? {
    if let reason = try put(key, try pointing(to: other), .update) { return reason }
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
    return try read.step() ? Self.packed(read.value(0)) : nil
  }

  /// What a row is given to point to another, by column.
  func pointing(to other: [UInt8]?) throws -> [String: SQLiteValue] {
    guard let pointer = sql.shape.pointer else { return [:] }
    return [
      pointer: try other.map { try $0.withUnsafeBytes { try PackedKey.values($0)[0] } } ?? .null
    ]
  }

  private static func packed(_ value: WireValue) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(value.inKey)
    return writer.bytes
  }
}
