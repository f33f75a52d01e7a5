#if Server
import Foundation
import GRDB
import Tern
import TernServer

/// A server's data file, read and never changed.
struct InspectServerFile: Codable {
  var path: String
  var sizes: FileSizes
  var format: Int
  /// Drawn when the store was made.
  var epoch: String
  /// By name.
  var spaces: [Space]
  var tokens: Int

  struct Space: Codable {
    var name: String
    /// Of the newest operation.
    var position: Int64
    /// The bytes of its operations.
    var bytes: Int64
    /// Operations up to here are served no more.
    var trimmed: Int64
    var tokens: Int
    var authors: [Author]
    var snapshots: [Snapshot]
  }

  struct Snapshot: Codable {
    /// Up to which position it holds everything.
    var position: Int64
    var isComplete: Bool
    var isRefused: Bool
    var parts: Int
    var bytes: Int64
  }

  struct Author: Codable {
    var id: String
    /// The newest sequence number that was accepted.
    var sequence: Int64
  }

  /// `nil` for a database of another kind.
  ///
  /// - Throws: ``InspectionError``.
  init?(path: String) throws {
    let read = try ReadOnlyFile(path: path).read { db -> Self? in
      // "TSRV": what a server writes into the header of its file.
      guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == 0x5453_5256 else { return nil }
      // A server makes no views at all.
      try ViewForTable.refuse(in: db, prefix: "", path: path)
      let format = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
      guard format <= ServerFile.formatVersion else {
        throw InspectionError(.newerFormat, path: path)
      }
      return try Self(db, path: path, format: format)
    }
    guard let read else { return nil }
    self = read
  }

  private init(_ db: Database, path: String, format: Int) throws {
    self.path = path
    self.format = format
    sizes = FileSizes(path: path)
    epoch = try String.fetchOne(db, sql: "SELECT epoch FROM store") ?? ""
    tokens = try Int.fetchOne(db, sql: "SELECT count(*) FROM token") ?? 0
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT *, (SELECT count(*) FROM token WHERE space = space.id) AS tokens,
          (SELECT ifnull(sum(length(operation.bytes)), 0) FROM operation
            WHERE space = space.id) AS operation_bytes
        FROM space WHERE NOT \(RemovedSpace.condition) ORDER BY name
        """)
    spaces = try rows.map { row in
      Space(
        name: row["name"], position: row["position"], bytes: row["operation_bytes"],
        // Format 1 has neither it nor snapshots.
        trimmed: row["trimmed"] ?? 0, tokens: row["tokens"],
        authors: try Self.authors(db, space: row["id"]),
        snapshots: format < 2 ? [] : try Self.snapshots(db, space: row["id"]))
    }
  }

  private static func snapshots(_ db: Database, space: Int64) throws -> [Snapshot] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT * FROM snapshot WHERE space = ? AND name IS NOT NULL ORDER BY position
        """, arguments: [space]
    ).map { row in
      Snapshot(
        position: row["position"], isComplete: row["is_complete"],
        // No format before 5 has it.
        isRefused: (row["refusal"] as String?) != nil, parts: row["parts"], bytes: row["bytes"])
    }
  }

  private static func authors(_ db: Database, space: Int64) throws -> [Author] {
    try Row.fetchAll(
      db, sql: "SELECT author, sequence FROM head WHERE space = ? ORDER BY author",
      arguments: [space]
    ).map {
      Author(
        id: ReplicaID(bytes: $0[0] as Data)?.description ?? "damaged", sequence: $0[1])
    }
  }
}
#endif
