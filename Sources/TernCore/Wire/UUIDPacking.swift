/// UUIDs in text, of which a batch's content mostly consists where rows are known by them, as their
/// 16 bytes.
///
/// Their digits are what no compressor finds anything in, and still it spends more than four bits
/// on each. Packed are, one behind the other: how many there are; for each, how many bytes stand
/// before it and whether its letters are capital; those bytes, and what follows the last
/// one; the UUIDs.
enum UUIDPacking {
  private static let textCount = 36
  private static let byteCount = 16

  /// The packed form; `nil` where nothing looks like a UUID.
  static func pack(_ content: UnsafeRawBufferPointer) -> [UInt8]? {
    var count = 0
    var gaps = ByteWriter()
    var rest: [UInt8] = []
    var uuids: [UInt8] = []
    var (place, begin) = (0, 0)
    while place + textCount <= content.count {
      guard let isCapital = append(from: content, place, to: &uuids) else {
        place += 1
        continue
      }
      gaps.append(varint: UInt64(place - begin) << 1 | (isCapital ? 1 : 0))
      rest.append(contentsOf: content[begin..<place])
      place += textCount
      begin = place
      count += 1
    }
    if count == 0 { return nil }
    rest.append(contentsOf: content[begin...])
    var writer = ByteWriter()
    writer.reserve(gaps.count + rest.count + uuids.count + 5)
    writer.append(varint: UInt64(count))
    writer.append(raw: gaps.bytes)
    writer.append(raw: rest)
    writer.append(raw: uuids)
    return writer.bytes
  }

  /// - Parameter count: of the content's bytes, which the caller has held against its limit.
  static func unpack(_ packed: [UInt8], count: Int) throws(WireError) -> [UInt8] {
    let result = packed.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try unpack(buffer, count: count) }
    }
    return try result.get()
  }

  private static func unpack(_ packed: UnsafeRawBufferPointer, count: Int) throws(WireError)
    -> [UInt8]
  {
    var reader = ByteReader(packed)
    let uuidCount = try reader.count("UUID count")
    // Before memory is taken for their places: each has one, and its bytes.
    guard uuidCount <= reader.remaining / (byteCount + 1) else {
      throw WireError(.malformed, "packed length")
    }
    var gaps: [UInt64] = []
    gaps.reserveCapacity(uuidCount)
    for _ in 0..<uuidCount { gaps.append(try reader.varint("UUID place")) }
    guard reader.remaining >= uuidCount * byteCount,
      reader.remaining + uuidCount * (textCount - byteCount) == count
    else { throw WireError(.malformed, "packed length") }
    var rest = ByteReader(try reader.bytes(reader.remaining - uuidCount * byteCount, "content"))
    var content: [UInt8] = []
    content.reserveCapacity(count)
    for gap in gaps {
      guard let before = Int(exactly: gap >> 1) else { throw WireError(.malformed, "UUID place") }
      content.append(contentsOf: try rest.bytes(before, "content"))
      append(try reader.bytes(byteCount, "UUID"), isCapital: gap & 1 == 1, to: &content)
    }
    content.append(contentsOf: try rest.bytes(rest.remaining, "content"))
    return content
  }

  // MARK: - Digits

  /// Where the hyphens stand: before these of the 16 bytes.
  private static func hasHyphen(before byte: Int) -> Bool {
    byte == 4 || byte == 6 || byte == 8 || byte == 10
  }

  /// Appends the bytes of the UUID at a place; `nil`, with nothing appended, where none is.
  ///
  /// - Returns: whether its letters are capital.
  private static func append(
    from content: UnsafeRawBufferPointer, _ place: Int, to uuids: inout [UInt8]
  ) -> Bool? {
    let hyphen = UInt8(ascii: "-")
    guard content[place + 8] == hyphen, content[place + 13] == hyphen,
      content[place + 18] == hyphen, content[place + 23] == hyphen
    else { return nil }
    var (letters, capitals) = (0, 0)
    var digit = place
    let start = uuids.count
    for byte in 0..<byteCount {
      if hasHyphen(before: byte) { digit += 1 }
      var value: UInt8 = 0
      for _ in 0..<2 {
        switch content[digit] {
        case let character where 48...57 ~= character: value = value << 4 | (character - 48)
        case let character where 97...102 ~= character:
          value = value << 4 | (character - 87)
          letters += 1
        case let character where 65...70 ~= character:
          value = value << 4 | (character - 55)
          (letters, capitals) = (letters + 1, capitals + 1)
        default:
          uuids.removeLast(uuids.count - start)
          return nil
        }
        digit += 1
      }
      uuids.append(value)
    }
    if capitals == 0 || capitals == letters { return capitals > 0 }
    uuids.removeLast(uuids.count - start)
    return nil
  }

  private static func append(
    _ uuid: UnsafeRawBufferPointer, isCapital: Bool, to content: inout [UInt8]
  ) {
    let letter: UInt8 = isCapital ? 55 : 87
    let character = { (digit: UInt8) in digit + (digit < 10 ? 48 : letter) }
    for (index, byte) in uuid.enumerated() {
      if hasHyphen(before: index) { content.append(UInt8(ascii: "-")) }
      content.append(character(byte >> 4))
      content.append(character(byte & 15))
    }
  }
}
