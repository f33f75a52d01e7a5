#if Server
import Foundation
import GRDB
import TernCore

extension StoredSnapshot {
  /// The columns that ``init(_:)`` reads, in its order.
  static let columns = """
    name, cursor, position, is_base, is_complete, parts, bytes, touched_ms, refusal, schema
    """

  /// - Throws: ``NumberOutOfRange``, ``StoreError``.
  init(_ row: Row) throws {
    let table = "snapshot"
    self.init(
      id: row[0], cursor: RemoteCursor(rawValue: row[1]),
      position: try row.position(2, of: table), isBase: row[3],
      schema: try SnapshotSchema(stored: row[9], of: row[0]),
      parts: Int(try row.number(5, .parts, of: table)),
      touched: try row.time(7, of: table))
    isComplete = row[4]
    bytes = Int(try row.number(6, .bytes, of: table))
    refusal = row[8]
  }

  /// When an upload that is still here was refused last.
  ///
  /// - Throws: ``NumberOutOfRange``.
  static func fetchRefused(_ db: Database, space: Int64) throws -> Date? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT touched_ms FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND refusal IS NOT NULL
        ORDER BY touched_ms DESC LIMIT 1
        """)
    return try Row.fetchOne(statement, arguments: [space])?.time(0, of: "snapshot")
  }

  static func fetchNewest(_ db: Database, space: Int64) throws -> StoredSnapshot? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(columns) FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND is_complete ORDER BY position DESC, name DESC
        """)
    return try Row.fetchOne(statement, arguments: [space]).map { try StoredSnapshot($0) }
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

  static func fetch(_ db: Database, space: Int64, snapshot id: String) throws -> [ReplicaID:
    SnapshotHead]
  {
    let statement = try db.cachedStatement(
      sql: "SELECT heads FROM snapshot WHERE space = ? AND name = ?")
    let data = try Data.fetchOne(statement, arguments: [space, id]) ?? Data()
    guard let heads = decode(data) else {
      throw StoreError(.damaged, "the heads of snapshot \(id) can't be read; restore a backup")
    }
    return heads
  }

  /// `nil` for what ``encode(_:)`` does not write.
  static func decode(_ data: Data) -> [ReplicaID: SnapshotHead]? {
    let bytes = Array(data)
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
#endif
