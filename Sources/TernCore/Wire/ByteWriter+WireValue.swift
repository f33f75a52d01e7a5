extension ByteWriter {
  /// Appends a value that was read in place.
  package mutating func append(_ value: WireValue) {
    switch value.tag {
    case .null: append(byte: WireTag.null.rawValue)
    case .integer, .negative, .integer64: append(integer: Int64(bitPattern: value.bits))
    case .integer128: append(wide: value.wide!)
    case .real: append(real: Double(bitPattern: value.bits))
    case .text, .blob: append(value.tag, bytes: value.content)
    }
  }

  /// Appends a key's value in the one form that equal keys share: SQLite holds 1 and 1.0 for the
  /// same key, so a whole number in a double is written as the integer.
  package mutating func append(key value: WireValue) {
    if value.tag == .real, let whole = Int64(exactly: Double(bitPattern: value.bits)) {
      append(integer: whole)
    } else {
      append(value)
    }
  }
}
