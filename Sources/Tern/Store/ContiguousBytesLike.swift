/// Bytes in an array or in a buffer.
protocol ContiguousBytesLike {
  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T
}

extension [UInt8]: ContiguousBytesLike {
  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try withUnsafeBytes(body)
  }
}

extension UnsafeRawBufferPointer: ContiguousBytesLike {
  func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(self)
  }
}
