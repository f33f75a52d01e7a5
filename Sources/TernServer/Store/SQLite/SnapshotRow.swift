#if Server
import Foundation
import GRDB
import TernCore

extension StoredSnapshot {
  /// The columns that ``init(_:)`` reads, in its order.
  static let columns = """
    name, cursor, position, is_base, is_complete, parts, bytes, touched_ms, refusal, schema
    """

  init(_ row: Row) {
    self.init(
      id: row[0], cursor: RemoteCursor(rawValue: row[1]), position: UInt64(row[2] as Int64),
      isBase: row[3], schema: SnapshotSchema(stored: row[9]), parts: row[5],
      touchedMilliseconds: row[7])
    isComplete = row[4]
    bytes = row[6]
    refusal = row[8]
  }

  /// When an upload that is still here was refused last.
  static func fetchRefused(_ db: Database, space: Int64) throws -> Int64? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT max(touched_ms) FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND refusal IS NOT NULL
        """)
    return try Int64.fetchOne(statement, arguments: [space])
  }

  static func fetchNewest(_ db: Database, space: Int64) throws -> StoredSnapshot? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(columns) FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND is_complete ORDER BY position DESC, name DESC
        """)
    return try Row.fetchOne(statement, arguments: [space]).map { StoredSnapshot($0) }
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

  /// One that can't be read says nothing, and its snapshot is compared by the names in it.
  init?(stored: String?) {
    guard let stored,
      let schema = try? JSONDecoder().decode(SnapshotSchema.self, from: Data(stored.utf8))
    else { return nil }
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
      heads[replica] = SnapshotHead(sequence: words[0], time: HybridTime(rawValue: words[1]))
    }
    return heads
  }
}
#endif
