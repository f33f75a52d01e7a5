/// A text that is mostly the same as the last time, and then not made again.
struct RepeatedText: Sendable {
  private var bytes: [UInt8] = []
  private var text = ""

  @inline(__always)
  mutating func text(of bytes: UnsafeBufferPointer<UInt8>) -> String {
    if !isText(of: bytes) { change(to: bytes) }
    return text
  }

  @inline(__always)
  private func isText(of other: UnsafeBufferPointer<UInt8>) -> Bool {
    guard other.count == bytes.count else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      var index = 0
      while index &+ 8 <= bytes.count {
        if bytes.word(at: index) != other.word(at: index) { return false }
        index &+= 8
      }
      while index < bytes.count {
        if bytes[index] != other[index] { return false }
        index &+= 1
      }
      return true
    }
  }

  @inline(never)
  private mutating func change(to bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = Array(bytes)
    text = String(decoding: bytes, as: UTF8.self)
  }
}
