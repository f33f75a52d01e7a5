/// Text of up to 15 ASCII characters without NUL, kept as numbers: a `String` takes as long to make
/// as the lines of a short event to read.
struct ShortText: Hashable, Sendable {
  /// The first character lowest.
  private let low: UInt64
  /// The ninth character lowest; the highest byte counts them all.
  private let high: UInt64

  /// `nil` for any other text.
  @inline(__always)
  init?(_ text: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) {
    let count = text.upperBound &- text.lowerBound
    guard count <= 15 else { return nil }
    let lowCount = min(count, 8)
    guard let low = bytes.asciiWord(at: text.lowerBound, count: lowCount),
      let high = bytes.asciiWord(at: text.lowerBound &+ lowCount, count: count &- lowCount)
    else { return nil }
    self.low = low
    self.high = high | UInt64(truncatingIfNeeded: count) << 56
  }

  var text: String {
    withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) { bytes in
      let count = Int(high >> 56)
      return String(unsafeUninitializedCapacity: count) { text in
        UnsafeMutableRawBufferPointer(text).copyMemory(from: .init(rebasing: bytes[..<count]))
        return count
      }
    }
  }
}
