/// The bytes of an event stream, and a line of one.
extension UnsafeBufferPointer<UInt8> {
  /// Of bytes that are there: an empty buffer need not have an address.
  @inline(__always)
  subscript(part range: Range<Int>) -> Self {
    let count = range.upperBound &- range.lowerBound
    return Self(start: baseAddress.unsafelyUnwrapped + range.lowerBound, count: count)
  }

  /// Eight bytes, the first of them lowest; 0 where there are fewer.
  @inline(__always)
  func word(at index: Int) -> UInt64 {
    guard index &+ 8 <= count, let bytes = UnsafeRawPointer(baseAddress) else { return 0 }
    return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
  }

  /// Up to eight characters, the first of them lowest; `nil` where one is not ASCII, or NUL.
  @inline(__always)
  func asciiWord(at index: Int, count length: Int) -> UInt64? {
    guard length > 0 else { return 0 }
    let mask = UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- 8 &* length)
    var word: UInt64 = 0
    if index &+ 8 <= count {
      word = self.word(at: index) & mask
    } else {
      for offset in (0..<length).reversed() { word = word << 8 | UInt64(self[index &+ offset]) }
    }
    // One less than NUL has the highest bit, as all have that are not ASCII.
    let highest = ((word &- 0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080
    return highest & mask == 0 ? word : nil
  }

  /// Where the line ends that `start` stands in, the index of its CR or LF, and where the next one
  /// begins; `nil` where no end has come yet.
  ///
  /// Eight bytes at a time: subtracting 14 from each borrows from the highest bit of those below
  /// 14, of which a text has hardly others than CR and LF. Only what stands above the first hit can
  /// be a wrong one.
  @inline(__always)
  func lineEnd(from start: Int) -> (end: Int, next: Int)? {
    var index = start
    while index &+ 8 <= count {
      let word = word(at: index)
      let hits = (word &- 0x0E0E_0E0E_0E0E_0E0E) & ~word & 0x8080_8080_8080_8080
      if hits == 0 {
        index &+= 8
      } else {
        index &+= hits.trailingZeroBitCount / 8
        if let next = lineStart(after: index) { return (index, next) }
        index &+= 1
      }
    }
    while index < count {
      if let next = lineStart(after: index) { return (index, next) }
      index &+= 1
    }
    return nil
  }

  /// Where the next line begins; `nil` where none ends.
  @inline(__always)
  private func lineStart(after end: Int) -> Int? {
    let next = end &+ 1
    if self[end] == UInt8(ascii: "\n") { return next }
    guard self[end] == UInt8(ascii: "\r") else { return nil }
    return next < count && self[next] == UInt8(ascii: "\n") ? next &+ 1 : next
  }

  /// What follows the field's name, its colon and one space; `nil` for another field's line.
  func value(of name: StaticString, in line: Range<Int>) -> Range<Int>? {
    let length = name.utf8CodeUnitCount
    guard line.count >= length else { return nil }
    for index in 0..<length where self[line.lowerBound + index] != name.utf8Start[index] {
      return nil
    }
    if line.count == length { return line.upperBound..<line.upperBound }
    let colon = line.lowerBound + length
    guard self[colon] == UInt8(ascii: ":") else { return nil }
    let hasSpace = colon + 1 < line.upperBound && self[colon + 1] == UInt8(ascii: " ")
    return (colon + (hasSpace ? 2 : 1))..<line.upperBound
  }

  /// The digits as a number; `nil` where there is none, something else, or more than
  /// an `Int32` holds.
  var number: Int32? {
    var number: Int32 = 0
    for byte in self {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      let (tens, isTooLong) = number.multipliedReportingOverflow(by: 10)
      let (sum, isTooLarge) = tens.addingReportingOverflow(Int32(byte - UInt8(ascii: "0")))
      if isTooLong || isTooLarge { return nil }
      number = sum
    }
    return isEmpty ? nil : number
  }
}
