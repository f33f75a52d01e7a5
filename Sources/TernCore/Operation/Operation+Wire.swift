extension SyncOperation {
  package static let wireVersion: UInt8 = 1
  private static let continuesFlag: UInt8 = 1

  /// What a body holds. Further kinds (compressed, encrypted) are reserved from 1.
  private static let rowChanges: UInt8 = 0

  /// Encodes an envelope and a body of row changes.
  package init(_ envelope: Envelope, body: [UInt8]) {
    precondition(envelope.sequence > 0, "sequences begin at 1")
    var writer = ByteWriter()
    writer.reserve(body.count + 96)
    writer.append(byte: Self.wireVersion)
    writer.append(byte: envelope.continues ? Self.continuesFlag : 0)
    writer.append(replica: envelope.replica)
    writer.append(varint: envelope.sequence)
    writer.append(fixed: envelope.time.rawValue)
    writer.append(varint: UInt64(envelope.schemaVersion))
    writer.append(envelope.seen)
    writer.append(byte: Self.rowChanges)
    writer.append(varint: UInt64(body.count))
    bodyOffset = writer.count
    writer.append(raw: body)
    self.envelope = envelope
    bytes = writer.bytes
  }

  /// Reads one operation that takes up all of `bytes`.
  ///
  /// The body's own structure is checked when it is merged.
  /// - Throws: ``WireError``.
  public init(bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Limit.bytes else { throw WireError(.tooLarge, "operation") }
    let parsed = bytes.withUnsafeBytes { buffer in
      Result { () throws(WireError) in try Self.parse(buffer) }
    }
    (envelope, bodyOffset) = try parsed.get()
    self.bytes = bytes
  }

  /// The envelope of an operation that fills `buffer`, and where its body begins.
  package static func parse(_ buffer: UnsafeRawBufferPointer) throws(WireError) -> (Envelope, Int) {
    var reader = ByteReader(buffer)
    guard try reader.byte("operation version") == wireVersion else {
      throw WireError(.unsupportedVersion, "operation")
    }
    let flags = try reader.byte("operation flags")
    guard flags & ~continuesFlag == 0 else {
      throw WireError(.unsupportedVersion, "operation flags")
    }
    let replica = try reader.replica("replica")
    let sequence = try reader.varint("sequence")
    guard sequence > 0, sequence <= VersionVector.maximumSequence else {
      throw WireError(.malformed, "sequence")
    }
    let time = HybridTime(rawValue: try reader.fixed(UInt64.self, "time"))
    guard time > .zero, time.milliseconds <= HybridTime.maximumMilliseconds else {
      throw WireError(.malformed, "time")
    }
    guard let schemaVersion = UInt32(exactly: try reader.varint("schema version")) else {
      throw WireError(.malformed, "schema version")
    }
    let seen = try reader.vector("seen", limit: Limit.seen)
    guard try reader.byte("body kind") == rowChanges else {
      throw WireError(.unsupportedVersion, "body kind")
    }
    guard try reader.varint("body length") == UInt64(reader.remaining) else {
      throw WireError(.malformed, "body length")
    }
    let envelope = Envelope(
      replica: replica, sequence: sequence, time: time, seen: seen, schemaVersion: schemaVersion,
      continues: flags & continuesFlag != 0)
    return (envelope, reader.offset)
  }

  /// Where in ``bytes`` what follows the time begins: behind two bytes, the author, and a sequence
  /// in sevens of bits.
  var timeEnd: Int {
    2 + 16 + (UInt64.bitWidth - envelope.sequence.leadingZeroBitCount + 6) / 7 + 8
  }

  /// The same operation under another time, for one that no server has accepted yet.
  package func restamped(_ time: HybridTime) -> SyncOperation {
    var envelope = envelope
    envelope.time = time
    return SyncOperation(envelope, body: Array(bytes[bodyOffset...]))
  }
}
