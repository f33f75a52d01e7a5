#if PostgreSQL
import Foundation
import TernCore

extension PostgreSQLSpaceTransaction {
  var trimmed: UInt64 {
    get throws { UInt64(try counts.places().trimmed) }
  }

  func trim(through position: UInt64) throws {
    db.queue(
      "UPDATE \(schema("space")) SET trimmed = greatest(trimmed, $2) WHERE id = $1",
      [key, .integer(Int64(position))])
  }

  func releaseTrimmed(operations: Int) throws -> Bool {
    let places = try counts.places()
    guard places.released < places.trimmed else { return false }
    let some = try counts.some(
      after: places.released, through: places.trimmed, operations: operations, contentBytes: .max)
    try counts.countAuthors(after: places.released, through: some.end, "-")
    db.queue(
      """
      UPDATE \(schema("space")) SET released = $2, bytes = bytes - $3, kept_bytes = kept_bytes + $3
      WHERE id = $1
      """, [key, .integer(some.end), .integer(some.bytes)])
    return some.end < places.trimmed
  }

  func removeTrimmed(through position: UInt64, operations: Int, contentBytes: Int) throws -> Bool {
    let places = try counts.places()
    let last = min(Int64(clamping: position), places.released)
    guard places.emptied < last else { return false }
    let some = try counts.some(
      after: places.emptied, through: last, operations: operations, contentBytes: contentBytes)
    db.queue(
      """
      DELETE FROM \(schema("operation_bytes"))
      WHERE space = $1 AND position > $2 AND position <= $3
      """, [key, .integer(places.emptied), .integer(some.end)])
    db.queue(
      "UPDATE \(schema("space")) SET emptied = $2, kept_bytes = kept_bytes - $3 WHERE id = $1",
      [key, .integer(some.end), .integer(some.bytes)])
    return some.end < last
  }

  func untrim() throws -> UntrimmedOperations {
    let places = try counts.places()
    let isCounted = """
      sequence > 0 AND author NOT IN (
        SELECT replica FROM \(schema("author")) WHERE space = $1 AND banned_after IS NOT NULL)
      """
    let back = try db.run(
      """
      SELECT coalesce(sum(length(bytes)), 0)::bigint, count(*) FILTER (WHERE \(isCounted)),
        coalesce(sum(length(bytes)) FILTER (WHERE \(isCounted)), 0)::bigint
      FROM \(schema("operation")) LEFT JOIN \(schema("operation_bytes")) USING (space, position)
      WHERE space = $1 AND position > $2 AND position <= $3
      """, [key, .integer(places.emptied), .integer(places.released)]
    ).first!
    try counts.countAuthors(after: places.emptied, through: places.released, "+")
    db.queue(
      """
      UPDATE \(schema("space")) SET trimmed = emptied, released = emptied, bytes = bytes + $2,
        kept_bytes = kept_bytes - $2
      WHERE id = $1
      """, [key, .integer(back.integer(0))])
    return UntrimmedOperations(
      trimmed: UInt64(places.emptied),
      counted: CountedOperations(
        operations: Int(back.integer(1)), bytes: Int(back.integer(2))))
  }

  // MARK: - What an operator set

  var deadlines: SpaceDeadlines {
    get throws {
      if let facts { return facts.deadlines }
      let row = try db.run(
        "SELECT refill_ms, untrimmed_ms, suspended_ms FROM \(schema("space")) WHERE id = $1", [key]
      ).first!
      return try SpaceDeadlines(row, from: 0)
    }
  }

  func set(_ deadlines: SpaceDeadlines) throws {
    db.queue(
      """
      UPDATE \(schema("space")) SET refill_ms = $2, untrimmed_ms = $3, suspended_ms = $4
      WHERE id = $1
      """,
      [
        key, .integer(deadlines.refill?.milliseconds), .integer(deadlines.trimming?.milliseconds),
        .integer(deadlines.suspended?.milliseconds),
      ])
  }

  var usage: SpaceUsage {
    get throws { try facts?.usage ?? SpaceUsage.fetch(db, schema, where: "id = $1", [key])! }
  }

  func set(_ quota: SpaceQuota) throws {
    db.queue(
      """
      UPDATE \(schema("space")) SET quota_bytes = $2, quota_operations = $3, quota_authors = $4,
        quota_share = $5
      WHERE id = $1
      """,
      [
        key, .integer(quota.bytes), .integer(quota.operations), .integer(quota.authors),
        .integer(quota.share),
      ])
  }

  // MARK: - Leases and marks

  func leases() throws -> [ReplicaID: Lease] {
    let rows = try db.run(
      "SELECT position, at_ms, replica FROM \(schema("lease")) WHERE space = $1", [key])
    var leases: [ReplicaID: Lease] = [:]
    for row in 0..<rows.count { leases[try rows[row].replica(2)] = try Lease(rows[row]) }
    return leases
  }

  func set(_ lease: Lease?, of replica: ReplicaID) throws {
    guard let lease else {
      db.queue(
        "DELETE FROM \(schema("lease")) WHERE space = $1 AND replica = $2",
        [key, .bytes(replica.bytes)])
      return
    }
    db.queue(
      """
      INSERT INTO \(schema("lease")) (space, replica, position, at_ms) VALUES ($1, $2, $3, $4)
      ON CONFLICT (space, replica) DO UPDATE SET position = excluded.position,
        at_ms = excluded.at_ms
      """,
      [
        key, .bytes(replica.bytes), .integer(Int64(lease.position)),
        .integer(lease.renewed.milliseconds),
      ])
  }

  func marks(_ kind: MarkKind) throws -> [PositionMark] {
    try db.run(
      "SELECT position, at_ms FROM \(schema(kind.table)) WHERE space = $1 ORDER BY position", [key]
    ).map {
      PositionMark(
        position: try $0.position(0, of: kind.table), time: try $0.time(1, of: kind.table))
    }
  }

  func add(_ mark: PositionMark, _ kind: MarkKind) throws {
    db.queue(
      "INSERT INTO \(schema(kind.table)) (space, position, at_ms) VALUES ($1, $2, $3)",
      [key, .integer(Int64(mark.position)), .integer(mark.time.milliseconds)])
  }

  func removeMarks(before position: UInt64, _ kind: MarkKind) throws {
    db.queue(
      "DELETE FROM \(schema(kind.table)) WHERE space = $1 AND position < $2",
      [key, .integer(Int64(clamping: position))])
  }
}

extension SpaceDeadlines {
  init(_ row: PostgreSQLRow, from first: Int) throws {
    func time(_ column: Int) throws -> Date? {
      row.isNull(column) ? nil : try row.time(column, of: "space")
    }
    self.init(
      refill: try time(first), trimming: try time(first + 1), suspended: try time(first + 2))
  }
}

extension PostgreSQLSpaceStore {
  public func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease? {
    try naming(space) {
      try run(
        """
        SELECT lease.position, at_ms FROM \(schema("space")) AS space
        JOIN \(schema("lease")) AS lease ON lease.space = space.id
        WHERE space.name = $1 AND replica = $2
        """, [.text(space.text), .bytes(replica.bytes)]
      ).first.map { try Lease($0) }
    }
  }
}

extension Lease {
  fileprivate init(_ row: PostgreSQLRow) throws {
    self.init(position: try row.position(0, of: "lease"), renewed: try row.time(1, of: "lease"))
  }
}
#endif
