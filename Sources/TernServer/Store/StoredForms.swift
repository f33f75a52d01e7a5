#if Server
import Foundation
import TernCore

extension ReplicaID {
  /// The author of bases' rows.
  static let ofBases = ReplicaID(high: 0, low: 0)
  /// That of places that pages pass over, because a base there was dropped.
  static let ofPassed = ReplicaID(high: .max, low: .max)
  /// No device's: a server's file has places under it.
  var isReserved: Bool { self == .ofBases || self == .ofPassed }

  init(stored data: Data) throws {
    guard let replica = ReplicaID(bytes: data) else {
      throw StoreError(.damaged, "the data file has a replica id of \(data.count) bytes")
    }
    self = replica
  }

  var data: Data { Data(bytes) }
}

extension Bringer {
  /// As it is stored.
  var text: String? {
    switch self {
    case .member(let name): name.text
    case .unnamed: ""
    case .several: nil
    }
  }

  init(stored text: String?) {
    switch text {
    case nil: self = .several
    case "": self = .unnamed
    case let name?: self = .member(MemberName(stored: name))
    }
  }
}

extension SnapshotSchema {
  /// As JSON, always the same.
  var stored: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode(self) else { fatalError("names can always be encoded") }
    return String(decoding: data, as: UTF8.self)
  }

  /// `nil` for none, as of an older device; then a snapshot is compared by the names in it.
  ///
  /// - Throws: ``StoreError``: without its schema a snapshot would be checked less than it was to
  ///   be.
  init?(stored: String?, of id: String) throws {
    guard let stored else { return nil }
    guard let schema = try? JSONDecoder().decode(SnapshotSchema.self, from: Data(stored.utf8))
    else {
      throw StoreError(.damaged, "the schema of snapshot \(id) can't be read; restore a backup")
    }
    self = schema
  }
}

/// The heads of a snapshot in one value: for each in ascending order the replica, and as 8 bytes
/// each, most significant first, sequence and time.
enum SnapshotHeads {
  private static let entryBytes = ReplicaID.byteCount + 16

  static func encode(_ heads: [ReplicaID: SnapshotHead]) -> Data {
    var data = Data(capacity: heads.count * entryBytes)
    for (replica, head) in heads.sorted(by: { $0.key < $1.key }) {
      data.append(contentsOf: replica.bytes)
      for word in [head.sequence, head.time.rawValue] {
        withUnsafeBytes(of: word.bigEndian) { data.append(contentsOf: $0) }
      }
    }
    return data
  }

  /// - Parameter id: the snapshot's.
  /// - Throws: ``StoreError``.
  static func decode(_ bytes: [UInt8], of id: String) throws -> [ReplicaID: SnapshotHead] {
    guard let heads = decode(bytes) else {
      throw StoreError(.damaged, "the heads of snapshot \(id) can't be read; restore a backup")
    }
    return heads
  }

  /// `nil` for what ``encode(_:)`` does not write.
  static func decode(_ bytes: [UInt8]) -> [ReplicaID: SnapshotHead]? {
    guard bytes.count % entryBytes == 0 else { return nil }
    var heads: [ReplicaID: SnapshotHead] = [:]
    for start in stride(from: 0, to: bytes.count, by: entryBytes) {
      let entry = bytes[start..<start + entryBytes]
      guard let replica = ReplicaID(bytes: entry.prefix(ReplicaID.byteCount)) else { return nil }
      let words = [entry.dropFirst(ReplicaID.byteCount).prefix(8), entry.suffix(8)].map {
        $0.reduce(0) { $0 << 8 | UInt64($1) }
      }
      guard words[0] <= VersionVector.maximumSequence else { return nil }
      heads[replica] = SnapshotHead(sequence: words[0], time: HybridTime(rawValue: words[1]))
    }
    return heads
  }
}

extension StateReport {
  /// - Throws: ``StoreError``.
  init(stored bytes: [UInt8]) throws {
    do {
      self = try JSONDecoder().decode(StateReport.self, from: Data(bytes))
    } catch {
      throw StoreError(
        .damaged, "the data file has a state report that can't be read; restore it from a backup")
    }
  }
}

extension MarkKind {
  var table: String {
    switch self {
    case .stored: "mark"
    case .trimmed: "trim_mark"
    }
  }
}

extension StoredSnapshot {
  /// The columns that a stored one is read from, in this order.
  static let columns = """
    name, cursor, position, is_base, is_complete, parts, bytes, touched_ms, refusal, schema
    """
}

extension AuthorHead {
  /// The columns of a head, in the order in which stores read them.
  static let columns = "sequence, time, continues, operations, bytes"
}

extension TokenRecord {
  /// The columns of a token and its space, in the order in which stores read them.
  static let columns = """
    token.digest, space.name, token.created_ms, token.member, token.label, token.expires_ms,
      space.phase
    """
}

extension AuthorRecord {
  /// The columns of a record, in the order in which stores read them.
  static let columns = "member, brought_by, brought_first, brought_last, admitted, banned_after"
}
#endif
