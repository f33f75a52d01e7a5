/// A row's key in the one form that equal keys share: its values, one behind the other.
package enum PackedKey {
  package static func bytes(of values: [SQLiteValue]) -> [UInt8] {
    var writer = ByteWriter()
    for value in values {
      // SQLite holds 1 and 1.0 for the same key, and so do bodies.
      if case .real(let number) = value, let whole = Int64(exactly: number) {
        writer.append(integer: whole)
      } else {
        writer.append(value)
      }
    }
    return writer.bytes
  }

  package static func values(_ buffer: UnsafeRawBufferPointer) throws(WireError) -> [SQLiteValue] {
    var reader = ByteReader(buffer)
    var values: [SQLiteValue] = []
    while !reader.isAtEnd { values.append(try reader.value("key").value ?? .null) }
    return values
  }
}
