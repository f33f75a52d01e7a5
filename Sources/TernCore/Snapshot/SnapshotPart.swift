/// A piece of a snapshot as it is stored and travels: compressed, with a checksum, and of a length
/// that memory can hold. See `Docs/WireFormat.md`.
package enum SnapshotPart {
  package enum Limit {
    /// The longest content of a part, before compression.
    package static let contentBytes = 32 << 20
    /// The longest part as it is stored and travels: a content that no compressor shortens,
    /// and its heading.
    package static let bytes = contentBytes + 64
    /// The most parts of a snapshot, and the most bytes of all of them: as much as a server takes.
    package static let parts = 16_384
    package static let snapshotBytes = 4 << 30
    /// A part ends behind the first row that reaches this.
    package static let targetBytes = 256 << 10
    /// The most authors that a snapshot names.
    package static let authors = SyncOperation.Limit.seen
  }

  /// What a part holds; parts come in this order.
  package enum Kind: UInt8, Sendable {
    /// Schema and authors.
    case heading = 1
    /// What authors had seen of each other.
    case seen = 2
    /// Rows of one table.
    case rows = 3
    /// Operations of which something waits.
    case operations = 4
    case end = 5
  }

  private static let magic: [UInt8] = Array("TSN1".utf8)

  /// - Throws: ``WireError`` for a content over the limit.
  package static func encoded(_ content: [UInt8]) throws(WireError) -> [UInt8] {
    guard content.count <= Limit.contentBytes else { throw WireError(.tooLarge, "snapshot part") }
    var checksum = Checksum()
    checksum.add(content)
    let compressed = content.withUnsafeBytes { Deflate.compress($0) }
    var writer = ByteWriter()
    writer.append(raw: magic)
    writer.append(byte: compressed == nil ? 0 : 1)
    writer.append(fixed: checksum.value)
    writer.append(varint: UInt64(content.count))
    writer.append(raw: compressed ?? content)
    return writer.bytes
  }

  /// The content of a part, whose first byte is its ``Kind``.
  ///
  /// - Throws: ``WireError``, before anything is allocated for a length over the limit.
  package static func content(of bytes: [UInt8]) throws(WireError) -> [UInt8] {
    let parsed = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try parse(buffer) }
    }
    return try parsed.get()
  }

  private static func parse(_ buffer: UnsafeRawBufferPointer) throws(WireError) -> [UInt8] {
    var reader = ByteReader(buffer)
    guard try reader.bytes(4, "snapshot part").elementsEqual(magic) else {
      throw WireError(.unsupportedVersion, "snapshot part")
    }
    let compression = try reader.byte("compression")
    let expected = try reader.fixed(UInt32.self, "checksum")
    let length = try reader.varint("content length")
    guard length <= Limit.contentBytes else { throw WireError(.tooLarge, "snapshot part") }
    let rest = try reader.bytes(reader.remaining, "content")
    let content: [UInt8]
    switch compression {
    case 0:
      guard length == rest.count else { throw WireError(.malformed, "content length") }
      content = Array(rest)
    case 1: content = try Deflate.expand(rest, count: Int(length))
    default: throw WireError(.unsupportedVersion, "compression")
    }
    var checksum = Checksum()
    checksum.add(content)
    guard checksum.value == expected else { throw WireError(.malformed, "checksum") }
    return content
  }
}
