/// Appends the primitives of the wire format to bytes. See `Docs/WireFormat.md`.
package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  @inlinable package var count: Int { bytes.count }

  package init() {}

  package mutating func reserve(_ count: Int) {
    bytes.reserveCapacity(count)
  }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  package mutating func append(byte: UInt8) {
    bytes.append(byte)
  }

  package mutating func append(raw: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: raw)
  }

  package mutating func append(raw: [UInt8]) {
    bytes.append(contentsOf: raw)
  }

  /// An unsigned LEB128 number in its shortest form.
  package mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  package mutating func append(fixed value: some FixedWidthInteger) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// A string as its length and its UTF-8 bytes.
  package mutating func append(string: String) {
    append(varint: UInt64(string.utf8.count))
    bytes.append(contentsOf: string.utf8)
  }

  package mutating func append(replica: ReplicaID) {
    append(fixed: replica.high.bigEndian)
    append(fixed: replica.low.bigEndian)
  }

  /// Overwrites bytes that were reserved earlier, e.g. a mask known only after its row.
  package mutating func set(_ byte: UInt8, at offset: Int) {
    bytes[offset] = byte
  }
}

// MARK: - Values

extension ByteWriter {
  package mutating func append(integer value: Int64) {
    let magnitude = UInt64(bitPattern: value < 0 ? ~value : value)
    if magnitude < WireValue.inlineLimit {
      append(varint: magnitude << 3 | UInt64(value < 0 ? WireTag.negative : .integer))
    } else {
      append(byte: WireTag.integer64.rawValue)
      append(fixed: value)
    }
  }

  /// A number that may be beyond 64 bits: a counter's difference or sum.
  package mutating func append(wide value: Int128) {
    if let narrow = Int64(exactly: value) {
      append(integer: narrow)
    } else {
      append(byte: WireTag.integer128.rawValue)
      append(fixed: value)
    }
  }

  package mutating func append(real value: Double) {
    append(byte: WireTag.real.rawValue)
    append(fixed: value.bitPattern)
  }

  package mutating func append(_ tag: WireTag, bytes: UnsafeRawBufferPointer) {
    append(varint: UInt64(bytes.count) << 3 | UInt64(tag))
    append(raw: bytes)
  }

  package mutating func append(_ value: SQLiteValue) {
    switch value {
    case .null: append(byte: WireTag.null.rawValue)
    case .integer(let value): append(integer: value)
    case .real(let value): append(real: value)
    case .text(let bytes): bytes.withUnsafeBytes { append(.text, bytes: $0) }
    case .blob(let bytes): bytes.withUnsafeBytes { append(.blob, bytes: $0) }
    }
  }
}

extension UInt64 {
  fileprivate init(_ tag: WireTag) { self = UInt64(tag.rawValue) }
}
