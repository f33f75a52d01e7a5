#if Server
import GRDB

extension SQLiteSpaceStore {
  public func auditRecords(
    after number: UInt64, of space: SpaceName?, atMost count: Int
  ) throws -> [AuditRecord] {
    guard let after = Int64(exactly: number) else { return [] }
    return try pool.read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(AuditRecord.columns) FROM audit
          WHERE number > ?1\(space == nil ? "" : " AND space = ?3") ORDER BY number LIMIT ?2
          """)
      let values =
        [after, count] + (space.map { [$0.text] } ?? []) as [any DatabaseValueConvertible]
      return try Row.fetchAll(statement, arguments: StatementArguments(values)).map {
        AuditRecord(
          number: $0[0], milliseconds: $0[1], actor: $0[2], action: $0[3], space: $0[4],
          details: $0[5])
      }
    }
  }
}

extension SQLiteSpaceTransaction {
  var audit: any AuditRows { SQLiteAuditRows(db: db) }
}

struct SQLiteAuditRows: AuditRows {
  let db: Database

  /// With the number behind the newest record's, which stays always.
  func add(_ entry: AuditEntry, keeping records: Int) throws {
    try db.execute(
      sql: "INSERT INTO audit (at_ms, actor, action, space, details) VALUES (?, ?, ?, ?, ?)",
      arguments: [
        entry.time.milliseconds, entry.actor.text, entry.action.rawValue, entry.space.text,
        entry.detailsText,
      ])
    try db.execute(
      sql: "DELETE FROM audit WHERE number <= ?", arguments: [db.lastInsertedRowID - Int64(records)]
    )
  }
}
#endif
