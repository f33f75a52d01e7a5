#if Server
import TernCore

/// Small bodies that unpack to much.
enum Bomb {
  /// A deflate stream of about so many zeros: a literal, and then copies of 258 bytes that take two
  /// bits each, which are zeros themselves.
  ///
  /// - Source: RFC 1951, section 3.2.7.
  static func deflate(_ count: Int) -> (bytes: [UInt8], count: Int) {
    var bits = Bits()
    bits.add(1, count: 1)  // the last block
    bits.add(2, count: 2)  // with codes of its own:
    bits.add(29, count: 5)  // 286 literals and lengths,
    bits.add(0, count: 5)  // one distance,
    bits.add(14, count: 4)  // and 18 lengths of the codes for these lengths,
    // which are 1 for 18 (a run of zeros), 2 for 2, and 2 for 1.
    for length in [0, 0, 1] + Array(repeating: 0, count: 12) + [2, 0, 2] {
      bits.add(length, count: 3)
    }
    func zeros(_ count: Int) {
      bits.add(0, count: 1)
      bits.add(count - 11, count: 7)
    }
    let (one, two) = (1, 3)  // in the order in which the bits come
    bits.add(two, count: 2)  // the byte 0 has two bits: 1, 0,
    zeros(138)
    zeros(117)
    bits.add(two, count: 2)  // the end has two: 1, 1,
    zeros(28)
    bits.add(one, count: 2)  // the length 258 has one: 0,
    bits.add(one, count: 2)  // and so has the distance 1.
    bits.add(1, count: 2)
    let copies = (count - 1) / 258
    bits.addZeros(2 * copies)
    bits.add(3, count: 2)
    return (bits.bytes, 1 + copies * 258)
  }

  /// - Source: RFC 1950.
  static func zlib(_ count: Int) -> [UInt8] {
    let (deflated, count) = deflate(count)
    let second = count % 65_521
    return [0x78, 0x9c] + deflated + [UInt8(second >> 8), UInt8(second & 0xff), 0, 1]
  }

  /// Without a right checksum, which nobody reads before the end.
  ///
  /// - Source: RFC 1952.
  static func gzip(_ count: Int) -> [UInt8] {
    [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] + deflate(count).bytes + [UInt8](repeating: 0, count: 8)
  }

  /// A batch that unpacks to `count` bytes and says that it has `declared`.
  static func batch(_ form: UInt8, _ count: Int, declared: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(raw: Array("TRN1".utf8))
    writer.append(byte: form)
    writer.append(varint: 1)
    writer.append(varint: UInt64(declared))
    if form == 2 { writer.append(varint: UInt64(declared - 1)) }
    writer.append(raw: zlib(count))
    return writer.bytes
  }

  static func part(_ count: Int, declared: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(raw: Array("TSN1".utf8))
    writer.append(byte: 1)
    writer.append(fixed: UInt32(0))
    writer.append(varint: UInt64(declared))
    writer.append(raw: zlib(count))
    return writer.bytes
  }

  /// Bits from the lowest of each byte on.
  private struct Bits {
    private(set) var bytes: [UInt8] = []
    private var count = 0

    mutating func add(_ value: Int, count: Int) {
      for bit in 0..<count {
        if self.count % 8 == 0 { bytes.append(0) }
        bytes[bytes.count - 1] |= UInt8((value >> bit) & 1) << UInt8(self.count % 8)
        self.count += 1
      }
    }

    mutating func addZeros(_ added: Int) {
      count += added
      bytes += [UInt8](repeating: 0, count: (count + 7) / 8 - bytes.count)
    }
  }
}
#endif
