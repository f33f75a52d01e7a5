/// Operations as they travel: one frame, compressed as a whole. See `Docs/WireFormat.md`.
///
/// Compressing the frame and not each operation costs nothing on the writing device until it has a
/// network, and lets many small operations share what they have in common.
public struct OperationBatch: Hashable, Sendable {
  public var operations: [SyncOperation]

  public init(_ operations: [SyncOperation]) {
    self.operations = operations
  }

  /// Limits that every reader enforces; a writer stays under them.
  package enum Limit {
    /// The longest content of a frame, before compression.
    package static let bytes = 32 << 20
    package static let operations = 10_000
  }

  private static let magic: [UInt8] = Array("TRN1".utf8)

  private enum Compression: UInt8 {
    case none = 0
    case zlib = 1
    /// After ``UUIDPacking``: the packed length, and a zlib stream of that.
    case packed = 2
  }

  public func encoded() -> [UInt8] {
    let content = BatchContent.write(operations)
    var (form, compressed) = (Compression.packed, [UInt8]?.none)
    let packed = content.withUnsafeBytes { UUIDPacking.pack($0) }
    if let packed { compressed = packed.withUnsafeBytes { Deflate.compress($0) } }
    if compressed == nil {
      compressed = content.withUnsafeBytes { Deflate.compress($0) }
      form = compressed == nil ? .none : .zlib
    }
    var writer = ByteWriter()
    writer.append(raw: Self.magic)
    writer.append(byte: form.rawValue)
    writer.append(varint: UInt64(operations.count))
    writer.append(varint: UInt64(content.count))
    if form == .packed { writer.append(varint: UInt64(packed!.count)) }
    writer.append(raw: compressed ?? content)
    return writer.bytes
  }

  /// - Throws: ``WireError``, before anything is allocated for a length over the limit.
  public init(encoded bytes: [UInt8]) throws(WireError) {
    let parsed = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try Self.parse(buffer) }
    }
    operations = try parsed.get()
  }

  private static func parse(_ buffer: UnsafeRawBufferPointer) throws(WireError) -> [SyncOperation] {
    var reader = ByteReader(buffer)
    guard try reader.bytes(4, "batch").elementsEqual(magic) else {
      throw WireError(.unsupportedVersion, "batch")
    }
    guard let compression = Compression(rawValue: try reader.byte("compression")) else {
      throw WireError(.unsupportedVersion, "compression")
    }
    let count = try reader.varint("operation count")
    let length = try reader.varint("content length")
    guard count <= Limit.operations, length <= Limit.bytes else {
      throw WireError(.tooLarge, "batch")
    }
    if compression == .none {
      let rest = try reader.bytes(reader.remaining, "content")
      guard length == rest.count else { throw WireError(.malformed, "content length") }
      return try BatchContent.read(rest, count: Int(count))
    }
    let content = try expand(&reader, compression, count: Int(length))
    return try content.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try BatchContent.read(buffer, count: Int(count)) }
    }.get()
  }

  private static func expand(
    _ reader: inout ByteReader, _ compression: Compression, count: Int
  ) throws(WireError) -> [UInt8] {
    guard compression == .packed else {
      return try Deflate.expand(reader.bytes(reader.remaining, "content"), count: count)
    }
    // Packing makes each UUID shorter by more than its place takes.
    let packedCount = try reader.varint("packed length")
    guard packedCount < count else { throw WireError(.malformed, "packed length") }
    let packed = try Deflate.expand(
      reader.bytes(reader.remaining, "content"), count: Int(packedCount))
    return try UUIDPacking.unpack(packed, count: count)
  }
}
