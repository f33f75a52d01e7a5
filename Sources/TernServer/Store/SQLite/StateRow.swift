#if Server
import Foundation
import GRDB
import TernCore

extension StoredState {
  static func fetch(_ db: Database, space id: Int64) throws -> StoredState? {
    let statement = try db.cachedStatement(
      sql: "SELECT position, at_ms, is_disputed, report FROM state WHERE space = ?")
    guard let row = try Row.fetchOne(statement, arguments: [id]) else { return nil }
    let document = try? JSONDecoder().decode(StateDocument.self, from: row[3])
    guard let report = document?.report else {
      throw StoreError(
        .damaged, "the data file has a state report that can't be read; restore it from a backup")
    }
    return StoredState(
      report: report, position: UInt64(row[0] as Int64), milliseconds: row[1], isDisputed: row[2])
  }
}

extension SQLiteSpaceTransaction {
  var state: StoredState? {
    get throws { try StoredState.fetch(db, space: id) }
  }

  func set(_ state: StoredState) throws {
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO state (space, position, at_ms, is_disputed, report)
        VALUES (?, ?, ?, ?, ?)
        """,
      arguments: [
        id, Int64(state.position), state.milliseconds, state.isDisputed,
        try JSONEncoder().encode(StateDocument(state.report)),
      ])
  }
}
#endif
