#if Server
import Foundation
import GRDB
import TernCore

extension SQLiteSpaceTransaction {
  var trimmed: UInt64 {
    get throws { UInt64(try counts.places().trimmed) }
  }

  func trim(through position: UInt64) throws {
    try db.execute(
      sql: "UPDATE space SET trimmed = max(trimmed, ?) WHERE id = ?",
      arguments: [Int64(position), id])
  }

  func releaseTrimmed(operations: Int) throws -> Bool {
    let places = try counts.places()
    guard places.released < places.trimmed else { return false }
    let some = try counts.some(
      after: places.released, through: places.trimmed, operations: operations, contentBytes: .max)
    try counts.countAuthors(after: places.released, through: some.end, "-")
    try db.execute(
      sql: """
        UPDATE space SET released = ?1, bytes = bytes - ?2, kept_bytes = kept_bytes + ?2
        WHERE id = ?3
        """, arguments: [some.end, some.bytes, id])
    return some.end < places.trimmed
  }

  func removeTrimmed(through position: UInt64, operations: Int, contentBytes: Int) throws -> Bool {
    let places = try counts.places()
    let last = min(Int64(clamping: position), places.released)
    guard places.emptied < last else { return false }
    let some = try counts.some(
      after: places.emptied, through: last, operations: operations, contentBytes: contentBytes)
    try db.execute(
      sql: "UPDATE operation SET bytes = x'' WHERE space = ? AND position > ? AND position <= ?",
      arguments: [id, places.emptied, some.end])
    try db.execute(
      sql: "UPDATE space SET emptied = ?, kept_bytes = kept_bytes - ? WHERE id = ?",
      arguments: [some.end, some.bytes, id])
    return some.end < last
  }

  func untrim() throws -> UntrimmedOperations {
    let places = try counts.places()
    let isCounted = """
      sequence > 0 AND author NOT IN (
        SELECT replica FROM author WHERE space = ?1 AND banned_after IS NOT NULL)
      """
    let back = try Row.fetchOne(
      db,
      sql: """
        SELECT ifnull(sum(length(bytes)), 0), count(*) FILTER (WHERE \(isCounted)),
          ifnull(sum(length(bytes)) FILTER (WHERE \(isCounted)), 0)
        FROM operation WHERE space = ?1 AND position > ?2 AND position <= ?3
        """, arguments: [id, places.emptied, places.released])!
    try counts.countAuthors(after: places.emptied, through: places.released, "+")
    try db.execute(
      sql: """
        UPDATE space SET trimmed = emptied, released = emptied, bytes = bytes + ?1,
          kept_bytes = kept_bytes - ?1
        WHERE id = ?2
        """, arguments: [back[0] as Int, id])
    return UntrimmedOperations(
      trimmed: UInt64(places.emptied),
      counted: CountedOperations(operations: back[1], bytes: back[2]))
  }
}

extension SQLiteSpaceTransaction {
  var deadlines: SpaceDeadlines {
    get throws {
      let row = try Row.fetchOne(
        db, sql: "SELECT refill_ms, untrimmed_ms, suspended_ms FROM space WHERE id = ?",
        arguments: [id])
      guard let row else { fatalError("a transaction has its space") }
      return try SpaceDeadlines(row)
    }
  }

  func set(_ deadlines: SpaceDeadlines) throws {
    try db.execute(
      sql: "UPDATE space SET refill_ms = ?, untrimmed_ms = ?, suspended_ms = ? WHERE id = ?",
      arguments: [
        deadlines.refill?.milliseconds, deadlines.trimming?.milliseconds,
        deadlines.suspended?.milliseconds, id,
      ])
  }
}

// MARK: - Leases and marks

extension SQLiteSpaceTransaction {
  func leases() throws -> [ReplicaID: Lease] {
    var leases: [ReplicaID: Lease] = [:]
    let rows = try Row.fetchCursor(
      db, sql: "SELECT position, at_ms, replica FROM lease WHERE space = ?", arguments: [id])
    while let row = try rows.next() { leases[try ReplicaID(stored: row[2])] = try Lease(row) }
    return leases
  }

  func set(_ lease: Lease?, of replica: ReplicaID) throws {
    guard let lease else {
      return try db.execute(
        sql: "DELETE FROM lease WHERE space = ? AND replica = ?", arguments: [id, replica.data])
    }
    let statement = try db.cachedStatement(
      sql: """
        INSERT INTO lease (space, replica, position, at_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (space, replica) DO UPDATE SET position = excluded.position,
          at_ms = excluded.at_ms
        """)
    try statement.execute(arguments: [
      id, replica.data, Int64(lease.position), lease.renewed.milliseconds,
    ])
  }

  func marks(_ kind: MarkKind) throws -> [PositionMark] {
    let table = kind.table
    return try Row.fetchAll(
      db, sql: "SELECT position, at_ms FROM \(table) WHERE space = ? ORDER BY position",
      arguments: [id]
    ).map {
      PositionMark(
        position: try $0.position(0, of: table), time: try $0.time(1, of: table))
    }
  }

  func add(_ mark: PositionMark, _ kind: MarkKind) throws {
    try db.execute(
      sql: "INSERT INTO \(kind.table) (space, position, at_ms) VALUES (?, ?, ?)",
      arguments: [id, Int64(mark.position), mark.time.milliseconds])
  }

  func removeMarks(before position: UInt64, _ kind: MarkKind) throws {
    try db.execute(
      sql: "DELETE FROM \(kind.table) WHERE space = ? AND position < ?",
      arguments: [id, Int64(clamping: position)])
  }
}

extension SpaceDeadlines {
  fileprivate init(_ row: Row) throws {
    func time(_ index: Int) throws -> Date? {
      row.hasNull(atIndex: index) ? nil : try row.time(index, of: "space")
    }
    self.init(refill: try time(0), trimming: try time(1), suspended: try time(2))
  }
}

extension SQLiteSpaceStore {
  public func lease(of replica: ReplicaID, in space: SpaceName) throws -> Lease? {
    try read(space) { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT lease.position, at_ms FROM space JOIN lease ON lease.space = space.id
          WHERE space.name = ? AND replica = ?
          """)
      return try Row.fetchOne(statement, arguments: [space.text, replica.data]).map {
        try Lease($0)
      }
    }
  }
}

extension Lease {
  fileprivate init(_ row: Row) throws {
    self.init(
      position: try row.position(0, of: "lease"), renewed: try row.time(1, of: "lease"))
  }
}
#endif
