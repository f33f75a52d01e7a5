#if PostgreSQL
import TernCore

extension PostgreSQLSpaceStore {
  public func auditRecords(
    after number: UInt64, of space: SpaceName?, atMost count: Int
  ) throws -> [AuditRecord] {
    guard let after = Int64(exactly: number) else { return [] }
    let rows = try run(
      """
      SELECT \(AuditRecord.columns) FROM \(schema("audit"))
      WHERE number > $1\(space == nil ? "" : " AND space = $3") ORDER BY number LIMIT $2
      """, [.integer(after), .integer(count)] + (space.map { [.text($0.text)] } ?? []))
    return rows.map {
      AuditRecord(
        number: $0.integer(0), milliseconds: $0.integer(1), actor: $0.text(2)!, action: $0.text(3)!,
        space: $0.text(4)!, details: $0.text(5)!)
    }
  }
}

extension PostgreSQLSpaceTransaction {
  var audit: any AuditRows { PostgreSQLAuditRows(db: db, schema: schema) }
}

struct PostgreSQLAuditRows: AuditRows {
  let db: PostgreSQLConnection
  let schema: PostgreSQLSchema

  /// A sequence of the database's would have gaps, and give a number to who commits later than a
  /// greater one: whoever reads on from there would miss that record.
  func add(_ entry: AuditEntry, keeping records: Int) {
    db.queue(
      """
      WITH next AS (UPDATE \(schema("store")) SET audited = audited + 1 RETURNING audited)
      INSERT INTO \(schema("audit")) (\(AuditRecord.columns))
      SELECT audited, $1, $2, $3, $4, $5 FROM next
      """,
      [
        .integer(entry.time.milliseconds), .text(entry.actor.text), .text(entry.action.rawValue),
        .text(entry.space.text), .text(entry.detailsText),
      ])
    db.queue(
      """
      DELETE FROM \(schema("audit"))
      WHERE number <= (SELECT audited FROM \(schema("store"))) - $1
      """, [.integer(records)])
  }
}
#endif
