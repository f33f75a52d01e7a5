#if Server
import Foundation
import GRDB
import TernCore

extension StoredState {
  /// - Parameter head: the space's newest position; an older report is not read.
  static func fetch(_ db: Database, space id: Int64, head: UInt64) throws -> StoredState? {
    let statement = try db.cachedStatement(
      sql: """
        SELECT position, at_ms, is_disputed, CASE WHEN position = ?2 THEN report END
        FROM state WHERE space = ?1
        """)
    guard let row = try Row.fetchOne(statement, arguments: [id, Int64(head)]) else { return nil }
    var state = StoredState(
      report: nil, position: try row.position(0, of: "state"),
      received: try row.time(1, of: "state"), isDisputed: row[2])
    state.report = try (row[3] as Data?).map { try StateReport(stored: Array($0)) }
    return state
  }
}

extension SQLiteSpaceTransaction {
  var state: StoredState? {
    get throws { try StoredState.fetch(db, space: id, head: position) }
  }

  func set(_ state: StoredState) throws {
    guard let report = state.report else { preconditionFailure("a report is stored with itself") }
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO state (space, position, at_ms, is_disputed, report)
        VALUES (?, ?, ?, ?, ?)
        """,
      arguments: [
        id, Int64(state.position), state.received.milliseconds, state.isDisputed,
        try JSONEncoder().encode(report),
      ])
  }
}
#endif
