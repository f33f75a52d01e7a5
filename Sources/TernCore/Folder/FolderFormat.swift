/// The file in which one replica appends to a shared folder: a head, then frames of one batch each.
/// See `Docs/WireFormat.md`.
///
/// Every check covers the file from its beginning, so that equal checks at one place mean equal
/// files before it.
package enum FolderFormat {
  package static let version: UInt8 = 1
  package static let magic: [UInt8] = Array("TRNF".utf8)
  /// Of a frame, before its batch and after it.
  package static let lengthBytes = 4
  package static let checkBytes = 4

  package enum Limit {
    /// A batch that did not shrink, and its own head.
    package static let batchBytes = OperationBatch.Limit.bytes + 64
    package static let spaceBytes = 128
    /// The longest head: magic, version, writer, space with its length, check.
    package static let headBytes = 4 + 1 + ReplicaID.byteCount + 2 + spaceBytes + checkBytes
  }

  package static func head(writer: ReplicaID, space: String) -> [UInt8] {
    var writing = ByteWriter()
    writing.append(raw: magic)
    writing.append(byte: version)
    writing.append(replica: writer)
    writing.append(string: space)
    var check = Checksum()
    check.add(writing.bytes)
    writing.append(fixed: check.value)
    return writing.bytes
  }

  /// The check that a head, or a frame, ends with.
  package static func check(endOf bytes: [UInt8]) -> UInt32 {
    bytes.withUnsafeBytes { buffer in
      UInt32(
        littleEndian: buffer.loadUnaligned(
          fromByteOffset: buffer.count - checkBytes, as: UInt32.self))
    }
  }

  /// - Parameter check: of the file before the frame.
  package static func frame(_ operations: [SyncOperation], after check: UInt32) -> [UInt8] {
    let batch = OperationBatch(operations).encoded()
    var writing = ByteWriter()
    writing.reserve(lengthBytes + batch.count + checkBytes)
    writing.append(fixed: UInt32(batch.count))
    writing.append(raw: batch)
    var check = Checksum(check)
    check.add(writing.bytes)
    writing.append(fixed: check.value)
    return writing.bytes
  }
}

/// What the beginning of a file says.
package struct FolderHead: Hashable, Sendable {
  package var writer: ReplicaID
  package var space: String
  package var byteCount: Int
  package var check: UInt32

  /// - Throws: ``WireError``; `truncated` where the file can still become one.
  package init(_ buffer: UnsafeRawBufferPointer) throws(WireError) {
    var reader = ByteReader(buffer)
    let magic = try reader.bytes(min(4, buffer.count), "folder file")
    guard magic.elementsEqual(FolderFormat.magic.prefix(magic.count)) else {
      throw WireError(.malformed, "folder file")
    }
    guard magic.count == 4 else { throw WireError(.truncated, "folder file") }
    guard try reader.byte("folder file version") == FolderFormat.version else {
      throw WireError(.unsupportedVersion, "folder file")
    }
    writer = try reader.replica("writer")
    let length = try reader.varint("space")
    guard length <= FolderFormat.Limit.spaceBytes else { throw WireError(.tooLarge, "space") }
    guard let name = String(validating: try reader.bytes(Int(length), "space"), as: UTF8.self)
    else { throw WireError(.malformed, "space") }
    space = name
    var computed = Checksum()
    computed.add(UnsafeRawBufferPointer(rebasing: buffer[..<reader.offset]))
    check = try reader.fixed(UInt32.self, "check")
    guard check == computed.value else { throw WireError(.malformed, "check") }
    byteCount = reader.offset
  }
}

/// What stands where a frame should.
package enum FolderFrame: Sendable {
  /// A whole frame: its batch, how long it is with everything, and the check of the file so far.
  case whole([SyncOperation], byteCount: Int, check: UInt32)
  /// More bytes are needed to say: so many from the frame's beginning.
  case needs(Int)
  /// Not what its writer wrote: a checksum or a length that cannot be. The frame would be so long.
  case broken(byteCount: Int?)
  /// Whole, and not to be read by this version, or not at all.
  case unreadable(WireError)

  package init(_ buffer: UnsafeRawBufferPointer, after check: UInt32) {
    let overhead = FolderFormat.lengthBytes + FolderFormat.checkBytes
    guard buffer.count >= overhead else {
      self = .needs(overhead)
      return
    }
    let length = Int(UInt32(littleEndian: buffer.loadUnaligned(as: UInt32.self)))
    guard (1...FolderFormat.Limit.batchBytes).contains(length) else {
      self = .broken(byteCount: nil)
      return
    }
    guard buffer.count >= length + overhead else {
      self = .needs(length + overhead)
      return
    }
    let end = FolderFormat.lengthBytes + length
    var computed = Checksum(check)
    computed.add(UnsafeRawBufferPointer(rebasing: buffer[..<end]))
    let stored = UInt32(
      littleEndian: buffer.loadUnaligned(fromByteOffset: end, as: UInt32.self))
    guard computed.value == stored else {
      self = .broken(byteCount: length + overhead)
      return
    }
    do throws(WireError) {
      let batch = try OperationBatch(encoded: Array(buffer[FolderFormat.lengthBytes..<end]))
      self = .whole(batch.operations, byteCount: length + overhead, check: stored)
    } catch {
      self = .unreadable(error)
    }
  }
}
