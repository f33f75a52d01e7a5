#if PostgreSQL
import Foundation
import TernCore

extension PostgreSQLSpaceTransaction {
  func snapshots() throws -> [StoredSnapshot] {
    let select = (
      sql: """
      SELECT \(StoredSnapshot.columns) FROM \(schema("snapshot"))
      WHERE space = $1 AND name IS NOT NULL ORDER BY position, name
      """, values: [key]
    )
    // A push that asks for them asks for the members next: its space is nearly full.
    let members = [false, true].map { schema.members(of: id, atMost: 2, withClaims: $0) }
    let rows = try db.runAll([select] + (facts == nil ? [] : members))
    if rows.count > 1 {
      pairOfMembers = [false: MemberName.all(in: rows[1]), true: MemberName.all(in: rows[2])]
    }
    return try rows[0].map { try StoredSnapshot($0) }
  }

  func snapshotHeads(of name: String) throws -> [ReplicaID: SnapshotHead] {
    try SnapshotHeads.fetch(db, schema, space: id, snapshot: name)
  }

  func add(_ snapshot: StoredSnapshot, heads: [ReplicaID: SnapshotHead]) throws {
    db.queue(
      """
      INSERT INTO \(schema("snapshot")) (space, \(StoredSnapshot.columns), heads)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
      """,
      [
        key, .text(snapshot.id), .text(snapshot.cursor.rawValue),
        .integer(Int64(snapshot.position)), .integer(snapshot.isBase),
        .integer(snapshot.isComplete), .integer(snapshot.parts), .integer(snapshot.bytes),
        .integer(snapshot.touched.milliseconds), .text(snapshot.refusal),
        .text(snapshot.schema?.stored), .bytes(Array(SnapshotHeads.encode(heads))),
      ])
  }

  func update(_ snapshot: StoredSnapshot) throws {
    db.queue(
      """
      UPDATE \(schema("snapshot")) SET cursor = $3, position = $4, is_complete = $5, bytes = $6,
        touched_ms = $7, refusal = $8
      WHERE space = $1 AND name = $2
      """,
      [
        key, .text(snapshot.id), .text(snapshot.cursor.rawValue),
        .integer(Int64(snapshot.position)), .integer(snapshot.isComplete),
        .integer(snapshot.bytes), .integer(snapshot.touched.milliseconds),
        .text(snapshot.refusal),
      ])
  }

  func drop(_ name: String, keptFrom time: Date?) throws {
    if time != nil, let snapshot = try snapshot(name) {
      try counts.addBytes(-snapshot.bytes, kept: snapshot.bytes)
    }
    db.queue(
      """
      UPDATE \(schema("snapshot"))
      SET name = NULL, dropped_ms = $3, dropped_name = CASE WHEN $3 IS NOT NULL THEN name END
      WHERE space = $1 AND name = $2
      """, [key, .text(name), .integer(time?.milliseconds)])
  }

  // MARK: - What was dropped

  func droppedSnapshots() throws -> [DroppedSnapshot] {
    try db.run(
      """
      SELECT dropped_name, position, dropped_ms, id, bytes FROM \(schema("snapshot"))
      WHERE space = $1 AND name IS NULL AND dropped_name IS NOT NULL
      ORDER BY dropped_ms DESC, position DESC, id DESC
      """, [key]
    ).map {
      DroppedSnapshot(
        id: $0.text(0)!, row: $0.integer(3), position: try $0.position(1, of: "snapshot"),
        bytes: Int(try $0.number(4, .bytes, of: "snapshot")),
        time: try $0.time(2, of: "snapshot"))
    }
  }

  func update(_ dropped: DroppedSnapshot) throws {
    db.queue(
      "UPDATE \(schema("snapshot")) SET dropped_ms = $2 WHERE id = $1",
      [.integer(dropped.row), .integer(dropped.time.milliseconds)])
  }

  func bringBack(_ dropped: DroppedSnapshot) throws -> Bool {
    guard try snapshot(dropped.id) == nil else { return false }
    db.queue(
      """
      UPDATE \(schema("snapshot")) SET name = dropped_name, dropped_name = NULL, dropped_ms = NULL
      WHERE id = $1
      """, [.integer(dropped.row)])
    try counts.addBytes(dropped.bytes, kept: -dropped.bytes)
    return true
  }

  func forget(_ dropped: DroppedSnapshot) throws {
    db.queue(
      "UPDATE \(schema("snapshot")) SET dropped_name = NULL WHERE id = $1",
      [.integer(dropped.row)])
  }

  private static let goes = "space = $1 AND name IS NULL AND dropped_name IS NULL"

  func removeDropped(contentBytes: Int) throws -> Bool {
    let parts = try db.run(
      """
      SELECT snapshot, part, length(part.bytes)::bigint, (dropped_ms IS NOT NULL)::int::bigint
      FROM \(schema("snapshot_part")) AS part
      JOIN \(schema("snapshot")) AS snapshot ON snapshot.id = part.snapshot
      WHERE \(Self.goes) ORDER BY snapshot, part
      """, [key])
    var removed: [(snapshot: Int64, part: Int64)] = []
    var (total, kept) = (0, 0)
    for index in 0..<parts.count {
      let bytes = Int(parts[index].integer(2))
      if total + bytes > contentBytes, !removed.isEmpty { break }
      total += bytes
      if parts[index].flag(3) { kept += bytes }
      removed.append((parts[index].integer(0), parts[index].integer(1)))
    }
    // Of those that are kept the bytes count there.
    try counts.addBytes(kept - total, kept: -kept)
    db.queue(
      """
      DELETE FROM \(schema("snapshot_part")) AS part
      USING unnest($1::bigint[], $2::bigint[]) AS gone (snapshot, part)
      WHERE part.snapshot = gone.snapshot AND part.part = gone.part
      """, [.integers(removed.map(\.snapshot)), .integers(removed.map(\.part))])
    db.queue(
      """
      DELETE FROM \(schema("snapshot")) AS snapshot
      WHERE \(Self.goes)
        AND NOT EXISTS (SELECT FROM \(schema("snapshot_part")) WHERE snapshot = snapshot.id)
      """, [key])
    return try db.run(
      "SELECT 1 FROM \(schema("snapshot")) WHERE \(Self.goes) LIMIT 1", [key]
    ).count > 0
  }

  // MARK: - Parts

  private var ofSnapshot: String {
    "snapshot = (SELECT id FROM \(schema("snapshot")) WHERE space = $1 AND name = $2)"
  }

  func storedParts(of name: String) throws -> [Int: PartDigest] {
    let rows = try db.run(
      "SELECT part, digest FROM \(schema("snapshot_part")) WHERE \(ofSnapshot)",
      [key, .text(name)])
    return Dictionary(
      uniqueKeysWithValues: rows.map { (Int($0.integer(0)), PartDigest(stored: $0.bytes(1)!)) })
  }

  func partDigest(_ index: Int, of name: String) throws -> PartDigest? {
    try db.run(
      "SELECT digest FROM \(schema("snapshot_part")) WHERE \(ofSnapshot) AND part = $3",
      [key, .text(name), .integer(index)]
    ).first?.bytes(0).map { PartDigest(stored: $0) }
  }

  func addPart(_ bytes: [UInt8], digest: PartDigest, index: Int, of name: String) throws {
    db.queue(
      """
      INSERT INTO \(schema("snapshot_part")) (snapshot, part, digest, bytes)
      SELECT id, $3, $4, $5 FROM \(schema("snapshot")) WHERE space = $1 AND name = $2
      """,
      [key, .text(name), .integer(index), .bytes(digest.bytes), .bytes(bytes)])
    try counts.addBytes(bytes.count)
  }

  // MARK: - State

  var state: StoredState? {
    get throws { try StoredState.fetch(db, schema, space: id, head: position) }
  }

  func set(_ state: StoredState) throws {
    guard let report = state.report else { preconditionFailure("a report is stored with itself") }
    db.queue(
      """
      INSERT INTO \(schema("state")) (space, position, at_ms, is_disputed, report)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (space) DO UPDATE SET position = excluded.position, at_ms = excluded.at_ms,
        is_disputed = excluded.is_disputed, report = excluded.report
      """,
      [
        key, .integer(Int64(state.position)), .integer(state.received.milliseconds),
        .integer(state.isDisputed), .bytes(Array(try JSONEncoder().encode(report))),
      ])
  }
}

extension StoredSnapshot {
  /// - Throws: ``NumberOutOfRange``, ``StoreError``.
  fileprivate init(_ row: PostgreSQLRow) throws {
    let (table, id) = ("snapshot", row.text(0)!)
    self.init(
      id: id, cursor: RemoteCursor(rawValue: row.text(1)!),
      position: try row.position(2, of: table), isBase: row.flag(3),
      schema: try SnapshotSchema(stored: row.text(9), of: id),
      parts: Int(try row.number(5, .parts, of: table)), touched: try row.time(7, of: table))
    isComplete = row.flag(4)
    bytes = Int(try row.number(6, .bytes, of: table))
    refusal = row.text(8)
  }

  static func fetchNewest(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space: Int64
  ) throws -> StoredSnapshot? {
    try db.run(
      """
      SELECT \(columns) FROM \(schema("snapshot"))
      WHERE space = $1 AND name IS NOT NULL AND is_complete = 1
      ORDER BY position DESC, name DESC LIMIT 1
      """, [.integer(space)]
    ).first.map { try StoredSnapshot($0) }
  }

  /// When an upload that is still here was refused last.
  static func fetchRefused(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space: Int64
  ) throws -> Date? {
    try db.run(
      """
      SELECT touched_ms FROM \(schema("snapshot"))
      WHERE space = $1 AND name IS NOT NULL AND refusal IS NOT NULL
      ORDER BY touched_ms DESC LIMIT 1
      """, [.integer(space)]
    ).first?.time(0, of: "snapshot")
  }
}

extension SnapshotHeads {
  static func fetch(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space: Int64, snapshot id: String
  ) throws -> [ReplicaID: SnapshotHead] {
    let data = try db.run(
      "SELECT heads FROM \(schema("snapshot")) WHERE space = $1 AND name = $2",
      [.integer(space), .text(id)]
    ).first?.bytes(0)
    return try decode(data ?? [], of: id)
  }
}

extension StoredState {
  /// - Parameter head: the space's newest position; an older report is not read.
  static func fetch(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space id: Int64, head: UInt64
  ) throws -> StoredState? {
    guard
      let row = try db.run(
        """
        SELECT position, at_ms, is_disputed, CASE WHEN position = $2 THEN report END
        FROM \(schema("state")) WHERE space = $1
        """, [.integer(id), .integer(Int64(head))]
      ).first
    else { return nil }
    return StoredState(
      report: try row.bytes(3).map { try StateReport(stored: $0) },
      position: try row.position(0, of: "state"), received: try row.time(1, of: "state"),
      isDisputed: row.flag(2))
  }
}
#endif
