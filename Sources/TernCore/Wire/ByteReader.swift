/// Reads the primitives of the wire format and refuses every form but the shortest, so that
/// decoding and encoding again gives the same bytes.
package struct ByteReader {
  package let buffer: UnsafeRawBufferPointer
  package private(set) var offset = 0

  package init(_ buffer: UnsafeRawBufferPointer) {
    self.buffer = buffer
  }

  package var isAtEnd: Bool { offset == buffer.count }
  package var remaining: Int { buffer.count - offset }

  package mutating func bytes(_ count: Int, _ field: String) throws(WireError)
    -> UnsafeRawBufferPointer
  {
    guard count <= remaining else { throw WireError(.truncated, field) }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + count])
  }

  package mutating func byte(_ field: String) throws(WireError) -> UInt8 {
    guard offset < buffer.count else { throw WireError(.truncated, field) }
    defer { offset += 1 }
    return buffer[offset]
  }

  package mutating func varint(_ field: String) throws(WireError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try byte(field)
      guard shift < 63 || byte <= 1, shift == 0 || byte != 0 else {
        throw WireError(.malformed, field)
      }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
      guard shift <= 63 else { throw WireError(.malformed, field) }
    }
  }

  /// A count of things that follow, each of at least one byte, so that no count can ask for more
  /// memory than its input has bytes.
  package mutating func count(_ field: String) throws(WireError) -> Int {
    let value = try varint(field)
    guard value <= UInt64(remaining) else { throw WireError(.truncated, field) }
    return Int(value)
  }

  package mutating func fixed<T: FixedWidthInteger>(_ type: T.Type, _ field: String)
    throws(WireError) -> T
  {
    T(littleEndian: try bytes(MemoryLayout<T>.size, field).loadUnaligned(as: T.self))
  }

  package mutating func string(_ field: String) throws(WireError) -> String {
    let content = try bytes(count(field), field)
    guard let text = String(validating: content, as: UTF8.self) else {
      throw WireError(.malformed, field)
    }
    return text
  }

  package mutating func replica(_ field: String) throws(WireError) -> ReplicaID {
    let high = UInt64(bigEndian: try fixed(UInt64.self, field).littleEndian)
    let low = UInt64(bigEndian: try fixed(UInt64.self, field).littleEndian)
    return ReplicaID(high: high, low: low)
  }

  package mutating func value(_ field: String) throws(WireError) -> WireValue {
    let header = try varint(field)
    guard let tag = WireTag(rawValue: UInt8(header & 7)) else { fatalError("three bits, 8 tags") }
    let rest = header >> 3
    switch tag {
    case .integer where rest < WireValue.inlineLimit:
      return WireValue(.integer, bits: rest)
    case .negative where rest < WireValue.inlineLimit:
      return WireValue(.negative, bits: ~rest)
    case .text, .blob:
      guard rest <= UInt64(remaining) else { throw WireError(.truncated, field) }
      return WireValue(tag, content: try bytes(Int(rest), field))
    case .null where rest == 0:
      return WireValue(.null)
    case .real where rest == 0:
      let bits = try fixed(UInt64.self, field)
      guard !Double(bitPattern: bits).isNaN else { throw WireError(.malformed, field) }
      return WireValue(.real, bits: bits)
    case .integer64 where rest == 0:
      let number = try fixed(Int64.self, field)
      guard UInt64(bitPattern: number < 0 ? ~number : number) >= WireValue.inlineLimit else {
        throw WireError(.malformed, field)
      }
      return WireValue(.integer64, bits: UInt64(bitPattern: number))
    case .integer128 where rest == 0:
      let value = WireValue(.integer128, content: try bytes(16, field))
      guard Int64(exactly: value.wide!) == nil else { throw WireError(.malformed, field) }
      return value
    default:
      throw WireError(.malformed, field)
    }
  }
}
