/// A `.text` column's state as it is stored: one blob, taken apart where a change comes.
package struct TextCell: Hashable, Sendable {
  /// Of ``TextSequence/stored``, compressed where that is shorter: a byte for which, the lengths of
  /// the text and of all that it expands to, and the bytes.
  private var bytes: [UInt8]
  /// What they expand to; the text is its end.
  private var stored: [UInt8]
  private var textCount: Int

  private static let plain: UInt8 = 0
  private static let compressed: UInt8 = 1
  /// What is shorter is stored as it is: most texts are read more often than they fill a page.
  private static let compressedFrom = 512

  package init(_ sequence: TextSequence) {
    stored = sequence.stored
    textCount = sequence.textByteCount
    var writer = ByteWriter()
    let short =
      stored.count < Self.compressedFrom
      ? nil : stored.withUnsafeBytes { Deflate.compress($0, level: 1) }
    writer.append(byte: short == nil ? Self.plain : Self.compressed)
    writer.append(varint: UInt64(textCount))
    writer.append(varint: UInt64(stored.count))
    writer.append(raw: short ?? stored)
    bytes = writer.bytes
  }

  /// - Parameter isTrusted: whether it was written here. What comes from elsewhere is looked
  ///   through, and refused over ``TextChange/Limit/foreignBytes``.
  init(_ reader: inout ByteReader, isTrusted: Bool) throws(WireError) {
    let content = try reader.bytes(reader.count("text"), "text")
    bytes = Array(content)
    var inner = ByteReader(content)
    let form = try inner.byte("text form")
    let text = try inner.varint("text length")
    let count = try inner.varint("text length")
    let limit = isTrusted ? Int(Int32.max) : TextChange.Limit.foreignBytes
    guard count <= UInt64(limit), text <= count else { throw WireError(.tooLarge, "text length") }
    let rest = try inner.bytes(inner.remaining, "text")
    switch form {
    case Self.plain where rest.count == Int(count): stored = Array(rest)
    case Self.compressed: stored = try Deflate.expand(rest, count: Int(count))
    default: throw WireError(.malformed, "text form")
    }
    textCount = Int(text)
    if isTrusted { return }
    guard try sequence(isTrusted: false).stored == stored else {
      throw WireError(.malformed, "text")
    }
  }

  func append(to writer: inout ByteWriter) {
    writer.append(varint: UInt64(bytes.count))
    writer.append(raw: bytes)
  }

  package var byteCount: Int { bytes.count }

  /// - Throws: ``WireError``, where the database is damaged.
  package func sequence() throws(WireError) -> TextSequence { try sequence(isTrusted: true) }

  private func sequence(isTrusted: Bool) throws(WireError) -> TextSequence {
    let result = stored.withUnsafeBytes { buffer in
      Result { () throws(WireError) in
        try TextSequence(stored: buffer, isTrusted: isTrusted)
      }
    }
    let sequence = try result.get()
    guard sequence.textByteCount == textCount else { throw WireError(.malformed, "text length") }
    return sequence
  }

  /// What the column shows, in UTF-8: the text's beginning, if not all.
  package var shown: [UInt8] {
    let text = stored.suffix(textCount)
    if textCount <= TextChange.Limit.shownBytes { return Array(text) }
    var end = text.startIndex + TextChange.Limit.shownBytes
    while text[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(text[..<end])
  }
}
