extension ElementSet {
  /// The set as its column shows it, in the one form that equal sets share: a JSON array without
  /// spaces, its elements in SQLite's order.
  ///
  /// - Source: RFC 8259.
  package var json: SQLiteValue {
    var text: [UInt8] = [UInt8(ascii: "[")]
    for (index, entry) in shown.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      switch entry.element {
      case .text(let bytes): Self.append(bytes, to: &text)
      case let number: text.append(contentsOf: number.description.utf8)
      }
    }
    text.append(UInt8(ascii: "]"))
    return .text(text)
  }

  private static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        text.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  /// An element in the one form that equal elements share; `nil` for what a set cannot hold.
  ///
  /// Whole numbers are integers, and bytes that are no UTF-8 become U+FFFD. SQLite's JSON ends a
  /// text at its first NUL.
  package static func element(_ value: SQLiteValue) -> SQLiteValue? {
    switch value {
    case .integer: value
    case .real(let number):
      number.isFinite ? Int64(exactly: number).map { .integer($0) } ?? value : nil
    case .text(let bytes):
      bytes.contains(0) ? nil : .string(String(decoding: bytes, as: UTF8.self))
    case .null, .blob: nil
    }
  }
}
