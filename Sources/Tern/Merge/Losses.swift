import GRDB
import TernCore
import TernDatabase

/// Puts what concurrent writes lost into the inbox, in the merge's own transaction.
final class Losses {
  private let transaction: StoreTransaction
  private var hasChanged = false
  private var orphans: Set<RowID>?

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Whether anything would be kept.
  var isKeeping: Bool { transaction.inboxLimits.entries > 0 }

  func add(
    _ shape: TableShape, _ key: some ContiguousBytesLike, _ kind: ConflictKind,
    _ values: [String: SQLiteValue], loser: Stamp, winner: Stamp
  ) throws {
    if values.isEmpty || !isKeeping { return }
    hasChanged = true
    let insert = try transaction.statement(
      """
      INSERT INTO \(transaction.tables.inbox)
        (tbl, key, kind, content, loser, loser_time, winner, winner_time, found_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, \(NoteSQL.milliseconds))
      """)
    try key.withBytes { key in
      try HeldTable.bytes(of: values).withUnsafeBytes { content in
        insert.bind(1, shape.id)
        insert.bind(2, blob: key)
        insert.bind(3, copy: .string(kind.rawValue))
        insert.bind(4, blob: content)
        insert.bind(5, Int64(loser.author))
        insert.bind(6, raw: loser.time.rawValue)
        insert.bind(7, Int64(winner.author))
        insert.bind(8, raw: winner.time.rawValue)
        try insert.run()
      }
    }
  }

  /// The children that were listed when this was first asked.
  func listedOrphans() throws -> Set<RowID> {
    if let orphans { return orphans }
    let select = try transaction.statement(
      "SELECT tbl, key FROM \(transaction.tables.inbox) WHERE kind = ?")
    select.bind(1, copy: .string(ConflictKind.parentDeleted.rawValue))
    defer { select.reset() }
    var found: Set<RowID> = []
    while try select.step() {
      found.insert(RowID(table: select.int64(0), key: Array(select.blob(1))))
    }
    orphans = found
    return found
  }

  /// Takes out what was listed of a child before: it is listed anew as it is now.
  func dropOrphan(_ table: Int64, _ key: [UInt8]) throws {
    let delete = try transaction.statement(
      "DELETE FROM \(transaction.tables.inbox) WHERE kind = ? AND tbl = ? AND key = ?")
    try key.withUnsafeBytes { key in
      delete.bind(1, copy: .string(ConflictKind.parentDeleted.rawValue))
      delete.bind(2, table)
      delete.bind(3, blob: key)
      try delete.run()
    }
    if delete.changeCount > 0 {
      try transaction.db.notifyChanges(inTable: transaction.tables.inbox)
    }
  }

  /// Takes out the children that are not quarantined for a deleted parent any more.
  func dropStaleOrphans() throws {
    let (inbox, held) = (transaction.tables.inbox, transaction.tables.held)
    let delete = try transaction.statement(
      """
      DELETE FROM \(inbox) WHERE kind = ? AND NOT EXISTS (
        SELECT 1 FROM \(held) AS h WHERE h.tbl = \(inbox).tbl AND h.key = \(inbox).key
        AND h.reason = '\(HeldReason.orphaned)')
      """)
    delete.bind(1, copy: .string(ConflictKind.parentDeleted.rawValue))
    try delete.run()
    if delete.changeCount > 0 { hasChanged = true }
  }

  /// Keeps the limits, and tells observers.
  func finish() throws {
    guard hasChanged else { return }
    let inbox = transaction.tables.inbox
    let limits = transaction.inboxLimits
    let trim = try transaction.statement(
      """
      DELETE FROM \(inbox) WHERE found_ms < \(NoteSQL.milliseconds) - ?1 OR id IN (
        SELECT id FROM (
          SELECT id, row_number() OVER newest AS number, sum(length(content)) OVER newest AS bytes
          FROM \(inbox) WINDOW newest AS (ORDER BY id DESC))
        WHERE number > ?2 OR bytes > ?3)
      """)
    trim.bind(1, limits.age.milliseconds)
    trim.bind(2, Int64(limits.entries))
    trim.bind(3, Int64(limits.bytes))
    try trim.run()
    try transaction.db.notifyChanges(inTable: inbox)
  }
}
