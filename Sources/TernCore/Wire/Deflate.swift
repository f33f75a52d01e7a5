import CZlib

/// zlib streams (RFC 1950) with the output's length known beforehand.
package enum Deflate {
  /// A zlib stream of `bytes`, or `nil` where compressing would not make them shorter.
  package static func compress(_ bytes: UnsafeRawBufferPointer, level: Int32 = 6) -> [UInt8]? {
    guard bytes.count > 64 else { return nil }
    let limit = bytes.count - 1
    var written = 0
    let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      var length = uLongf(limit)
      let input = bytes.bindMemory(to: UInt8.self).baseAddress
      let code = compress2(buffer.baseAddress, &length, input, uLong(bytes.count), level)
      written = code == Z_OK ? Int(length) : 0
      count = written
    }
    return written > 0 ? output : nil
  }

  /// The content of a zlib stream that must be exactly `count` bytes long; the caller has held
  /// `count` against its limit, so a compressed bomb costs no more than that.
  package static func expand(_ bytes: UnsafeRawBufferPointer, count: Int) throws(WireError)
    -> [UInt8]
  {
    var isWhole = false
    let output = [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, produced in
      var length = uLongf(count)
      var consumed = uLong(bytes.count)
      let input = bytes.bindMemory(to: UInt8.self).baseAddress
      let code = uncompress2(buffer.baseAddress, &length, input, &consumed)
      isWhole = code == Z_OK && Int(length) == count && Int(consumed) == bytes.count
      produced = isWhole ? count : 0
    }
    guard isWhole else { throw WireError(.malformed, "compressed data") }
    return output
  }
}
