#if Server
import Foundation
import GRDB
import TernCore

extension StoredSnapshot {
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

extension SnapshotHeads {
  static func fetch(_ db: Database, space: Int64, snapshot id: String) throws -> [ReplicaID:
    SnapshotHead]
  {
    let statement = try db.cachedStatement(
      sql: "SELECT heads FROM snapshot WHERE space = ? AND name = ?")
    return try decode(Array(Data.fetchOne(statement, arguments: [space, id]) ?? Data()), of: id)
  }
}
#endif
