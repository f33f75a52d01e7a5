#if Server
import Foundation
import GRDB
import TernCore

extension SQLiteSpaceTransaction {
  func snapshots() throws -> [StoredSnapshot] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT \(StoredSnapshot.columns) FROM snapshot
        WHERE space = ? AND name IS NOT NULL ORDER BY position, name
        """, arguments: [id]
    ).map { try StoredSnapshot($0) }
  }

  func snapshotHeads(of name: String) throws -> [ReplicaID: SnapshotHead] {
    try SnapshotHeads.fetch(db, space: id, snapshot: name)
  }

  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) throws {
    try db.execute(
      sql: """
        INSERT INTO snapshot (space, \(StoredSnapshot.columns), heads)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        id, snapshot.id, snapshot.cursor.rawValue, Int64(snapshot.position), snapshot.isBase,
        snapshot.isComplete, snapshot.parts, snapshot.bytes, snapshot.touched.milliseconds,
        snapshot.refusal, snapshot.schema?.stored, SnapshotHeads.encode(heads),
      ])
  }

  func update(_ snapshot: StoredSnapshot) throws {
    let statement = try db.cachedStatement(
      sql: """
        UPDATE snapshot
        SET cursor = ?, position = ?, is_complete = ?, bytes = ?, touched_ms = ?, refusal = ?
        WHERE space = ? AND name = ?
        """)
    try statement.execute(arguments: [
      snapshot.cursor.rawValue, Int64(snapshot.position), snapshot.isComplete, snapshot.bytes,
      snapshot.touched.milliseconds, snapshot.refusal, id, snapshot.id,
    ])
  }

  func drop(_ name: String, keptFrom time: Date?) throws {
    if time != nil, let snapshot = try snapshot(name) {
      try counts.keepBytes(snapshot.bytes)
    }
    try db.execute(
      sql: """
        UPDATE snapshot SET name = NULL, dropped_ms = ?1, dropped_name = iif(?1 IS NULL, NULL, name)
        WHERE space = ?2 AND name = ?3
        """, arguments: [time?.milliseconds, id, name])
  }

  func droppedSnapshots() throws -> [DroppedSnapshot] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT dropped_name, position, dropped_ms, id, bytes FROM snapshot
        WHERE space = ? AND name IS NULL AND dropped_name IS NOT NULL
        ORDER BY dropped_ms DESC, position DESC, id DESC
        """, arguments: [id]
    ).map {
      DroppedSnapshot(
        id: $0[0], row: $0[3], position: try $0.position(1, of: "snapshot"),
        bytes: Int(try $0.number(4, .bytes, of: "snapshot")),
        time: try $0.time(2, of: "snapshot"))
    }
  }

  func update(_ dropped: DroppedSnapshot) throws {
    try db.execute(
      sql: "UPDATE snapshot SET dropped_ms = ? WHERE id = ?",
      arguments: [dropped.time.milliseconds, dropped.row])
  }

  func bringBack(_ dropped: DroppedSnapshot) throws -> Bool {
    guard try snapshot(dropped.id) == nil else { return false }
    try db.execute(
      sql: """
        UPDATE snapshot SET name = dropped_name, dropped_name = NULL, dropped_ms = NULL
        WHERE id = ?
        """, arguments: [dropped.row])
    try counts.keepBytes(-dropped.bytes)
    return true
  }

  func forget(_ dropped: DroppedSnapshot) throws {
    try db.execute(
      sql: "UPDATE snapshot SET dropped_name = NULL WHERE id = ?", arguments: [dropped.row])
  }

  private static let goes = "space = ? AND name IS NULL AND dropped_name IS NULL"

  func removeDropped(contentBytes: Int) throws -> Bool {
    let parts = try Row.fetchCursor(
      db,
      sql: """
        SELECT snapshot_part.id, length(snapshot_part.bytes), dropped_ms IS NOT NULL
        FROM snapshot_part JOIN snapshot ON snapshot.id = snapshot_part.snapshot
        WHERE \(Self.goes)
        """, arguments: [id])
    var removed: [Int64] = []
    var (total, kept) = (0, 0)
    while let part = try parts.next() {
      let bytes: Int = part[1]
      if total + bytes > contentBytes, !removed.isEmpty { break }
      total += bytes
      if part[2] { kept += bytes }
      removed.append(part[0])
    }
    try counts.keepBytes(-kept)
    try counts.addBytes(-total)
    let delete = try db.cachedStatement(sql: "DELETE FROM snapshot_part WHERE id = ?")
    for part in removed { try delete.execute(arguments: [part]) }
    try db.execute(
      sql: """
        DELETE FROM snapshot WHERE \(Self.goes)
          AND NOT EXISTS (SELECT 1 FROM snapshot_part WHERE snapshot = snapshot.id)
        """, arguments: [id])
    return try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM snapshot WHERE \(Self.goes))", arguments: [id])
      ?? false
  }
}

// MARK: - Parts

extension SQLiteSpaceTransaction {
  private static let ofSnapshot = """
    snapshot_part.snapshot = (SELECT id FROM snapshot WHERE space = ? AND name = ?)
    """

  func storedParts(of name: String) throws -> [Int: PartDigest] {
    let statement = try db.cachedStatement(
      sql: "SELECT part, digest FROM snapshot_part WHERE \(Self.ofSnapshot)")
    var digests: [Int: PartDigest] = [:]
    let rows = try Row.fetchCursor(statement, arguments: [id, name])
    while let row = try rows.next() {
      digests[row[0]] = PartDigest(stored: Array(row[1] as Data))
    }
    return digests
  }

  func partDigest(_ index: Int, of name: String) throws -> PartDigest? {
    let statement = try db.cachedStatement(
      sql: "SELECT digest FROM snapshot_part WHERE \(Self.ofSnapshot) AND part = ?")
    return try Data.fetchOne(statement, arguments: [id, name, index])
      .map { PartDigest(stored: Array($0)) }
  }

  func addPart(_ bytes: [UInt8], digest: PartDigest, index: Int, of name: String) throws {
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO snapshot_part (snapshot, part, digest, bytes)
        SELECT id, ?, ?, ? FROM snapshot WHERE space = ? AND name = ?
        """)
    try statement.execute(arguments: [index, Data(digest.bytes), Data(bytes), id, name])
    try counts.addBytes(bytes.count)
  }
}

extension SQLiteSpaceStore {
  public func snapshotPart(
    _ index: Int, of id: String, in space: SpaceName, isWhole: Bool
  ) throws -> [UInt8]? {
    try read(space) { db in
      guard let row = try SpaceRow.fetch(db, name: space, epoch) else { return nil }
      let statement = try db.cachedStatement(
        sql: """
          SELECT snapshot_part.bytes FROM snapshot
          JOIN snapshot_part ON snapshot_part.snapshot = snapshot.id AND snapshot_part.part = ?
          WHERE snapshot.space = ? AND snapshot.name = ? AND snapshot.is_complete = ?
          """)
      return try Data.fetchOne(statement, arguments: [index, row.id, id, isWhole]).map { Array($0) }
    }
  }
}
#endif
