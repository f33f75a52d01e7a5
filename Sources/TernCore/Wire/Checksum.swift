import CZlib

/// A CRC-32 that goes on over pieces.
///
/// - Source: ISO/IEC 3309, as in RFC 1952, section 8.
package struct Checksum: Hashable, Sendable {
  package private(set) var value: UInt32

  /// - Parameter value: of everything before, to go on from there.
  package init(_ value: UInt32 = 0) {
    self.value = value
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    // zlib counts in 32 bits, and begins anew where it is given no address.
    var rest = bytes
    while let base = rest.bindMemory(to: UInt8.self).baseAddress, rest.count > 0 {
      let count = min(rest.count, 1 << 30)
      value = UInt32(truncatingIfNeeded: crc32(uLong(value), base, uInt(count)))
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  package mutating func add(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { add($0) }
  }
}
