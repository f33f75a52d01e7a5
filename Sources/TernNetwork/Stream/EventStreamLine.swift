/// The bytes of an event stream, and a line of one.
extension UnsafeBufferPointer<UInt8> {
  /// Where the line ends that `start` stands in: the index of its CR or LF, `count` where none came yet.
  ///
  /// Eight bytes at a time: subtracting one borrows from a byte's highest bit where the byte is zero, which
  /// it is where the two differ in nothing. Only what stands above the first hit can be a wrong one.
  @inline(__always)
  func lineEnd(from start: Int) -> Int {
    guard let base = baseAddress.map({ UnsafeRawPointer($0) }) else { return count }
    let (ones, highest): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    var index = start
    while index &+ 8 <= count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let (feed, carriage) = (word ^ 0x0A0A_0A0A_0A0A_0A0A, word ^ 0x0D0D_0D0D_0D0D_0D0D)
      let hits = ((feed &- ones) & ~feed | (carriage &- ones) & ~carriage) & highest
      if hits != 0 { return index &+ hits.trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < count, self[index] != 0x0A, self[index] != 0x0D { index &+= 1 }
    return index
  }

  /// What follows the field's name, its colon and one space; `nil` for another field's line.
  @inline(__always)
  func value(of name: StaticString) -> Self? {
    let length = name.utf8CodeUnitCount
    guard count >= length else { return nil }
    for index in 0..<length where self[index] != name.utf8Start[index] { return nil }
    if count == length { return Self(rebasing: self[length...]) }
    guard self[length] == UInt8(ascii: ":") else { return nil }
    let hasSpace = count > length + 1 && self[length + 1] == UInt8(ascii: " ")
    return Self(rebasing: self[(length + (hasSpace ? 2 : 1))...])
  }

  /// The digits as a number; `nil` where there is none, something else, or more than an `Int32` holds.
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
