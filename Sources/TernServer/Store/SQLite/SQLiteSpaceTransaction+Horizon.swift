#if Server
import Foundation
import GRDB
import TernCore

extension SQLiteSpaceTransaction {
  var trimmed: UInt64 {
    get throws { try places().trimmed }
  }

  private func places() throws -> (trimmed: UInt64, emptied: UInt64) {
    let row = try Row.fetchOne(
      db, sql: "SELECT trimmed, emptied FROM space WHERE id = ?", arguments: [id])
    guard let row else { fatalError("a transaction has its space") }
    return (try row.position(0, of: "space"), try row.position(1, of: "space"))
  }

  func trim(through position: UInt64) throws {
    try db.execute(
      sql: "UPDATE space SET trimmed = max(trimmed, ?) WHERE id = ?",
      arguments: [Int64(position), id])
  }

  /// The length alone is read: SQLite has it without walking through a value's pages.
  func removeTrimmed(operations: Int, contentBytes: Int) throws -> Bool {
    let (trimmed, emptied) = try places()
    guard emptied < trimmed else { return false }
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT position, length(bytes) FROM operation
        WHERE space = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?
        """, arguments: [id, Int64(emptied), Int64(trimmed), operations])
    var (end, total): (Int64, Int) = (Int64(emptied), 0)
    while let row = try rows.next() {
      let bytes: Int = row[1]
      if total + bytes > contentBytes, end > emptied { break }
      total += bytes
      end = try row.number(0, .position, of: "operation")
    }
    try db.execute(
      sql: "UPDATE operation SET bytes = x'' WHERE space = ? AND position > ? AND position <= ?",
      arguments: [id, Int64(emptied), end])
    try db.execute(
      sql: "UPDATE space SET emptied = ?, bytes = bytes - ? WHERE id = ?",
      arguments: [end, total, id])
    return end < Int64(trimmed)
  }
}

extension SQLiteSpaceTransaction {
  var deadlines: SpaceDeadlines {
    get throws {
      let row = try Row.fetchOne(
        db, sql: "SELECT refill_ms, untrimmed_ms FROM space WHERE id = ?", arguments: [id])
      guard let row else { fatalError("a transaction has its space") }
      func time(_ index: Int) throws -> Int64? {
        row.hasNull(atIndex: index) ? nil : try row.milliseconds(index, of: "space")
      }
      return SpaceDeadlines(refill: try time(0), trimming: try time(1))
    }
  }

  func set(_ deadlines: SpaceDeadlines) throws {
    try db.execute(
      sql: "UPDATE space SET refill_ms = ?, untrimmed_ms = ? WHERE id = ?",
      arguments: [deadlines.refill, deadlines.trimming, id])
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
      id, replica.data, Int64(lease.position), lease.milliseconds,
    ])
  }

  func marks() throws -> [PositionMark] {
    try Row.fetchAll(
      db, sql: "SELECT position, at_ms FROM mark WHERE space = ? ORDER BY position",
      arguments: [id]
    ).map {
      PositionMark(
        position: try $0.position(0, of: "mark"), milliseconds: try $0.milliseconds(1, of: "mark"))
    }
  }

  func add(_ mark: PositionMark) throws {
    try db.execute(
      sql: "INSERT INTO mark (space, position, at_ms) VALUES (?, ?, ?)",
      arguments: [id, Int64(mark.position), mark.milliseconds])
  }

  func removeMarks(before position: UInt64) throws {
    try db.execute(
      sql: "DELETE FROM mark WHERE space = ? AND position < ?", arguments: [id, Int64(position)])
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
      position: try row.position(0, of: "lease"),
      milliseconds: try row.milliseconds(1, of: "lease"))
  }
}
#endif
