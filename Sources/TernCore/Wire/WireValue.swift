/// The low three bits of a value's first varint; the bits above are its number or byte count.
package enum WireTag: UInt8, Sendable {
  case null = 0
  /// A number from 0 up to 2⁶⁰ − 1, in the same varint.
  case integer = 1
  /// −1 − n, for numbers down to −2⁶⁰, in the same varint.
  case negative = 2
  /// Eight bytes follow; only for numbers that fit neither form above.
  case integer64 = 3
  case real = 4
  case text = 5
  case blob = 6
  /// Sixteen bytes follow; only for counters beyond 64 bits.
  case integer128 = 7
}

/// A value inside a buffer that outlives it: text and blobs are not copied.
package struct WireValue {
  package static let inlineLimit: UInt64 = 1 << 60

  package let tag: WireTag
  /// A number's 64 bits, a double's bit pattern, otherwise 0.
  package let bits: UInt64
  /// The content of text and blobs, the 16 bytes of a wide number, otherwise empty.
  package let content: UnsafeRawBufferPointer

  package init(
    _ tag: WireTag, bits: UInt64 = 0,
    content: UnsafeRawBufferPointer = .init(start: nil, count: 0)
  ) {
    self.tag = tag
    self.bits = bits
    self.content = content
  }

  /// The number of an integer value, wide ones included.
  package var wide: Int128? {
    switch tag {
    case .integer, .negative, .integer64: Int128(Int64(bitPattern: bits))
    case .integer128: Int128(littleEndian: content.loadUnaligned(as: Int128.self))
    default: nil
    }
  }

  package var isWhole: Bool {
    switch tag {
    case .integer, .negative, .integer64, .integer128: true
    case .null, .real, .text, .blob: false
    }
  }

  /// A copy that can leave the buffer; `nil` for a number beyond 64 bits.
  package var value: SQLiteValue? {
    switch tag {
    case .null: .null
    case .integer, .negative, .integer64: .integer(Int64(bitPattern: bits))
    case .real: .real(Double(bitPattern: bits))
    case .text: .text(Array(content))
    case .blob: .blob(Array(content))
    case .integer128: nil
    }
  }
}
