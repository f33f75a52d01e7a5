import GRDB
import TernCore
import TernDatabase

/// Puts what concurrent writes lost into the inbox, in the merge's own transaction.
final class Losses {
  private let transaction: StoreTransaction
  private var hasChanged = false

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Whether anything would be kept.
  var isKeeping: Bool { transaction.inboxLimits.entries > 0 }

  func add(
    _ shape: TableShape, _ key: some ContiguousBytesLike, _ kind: ConflictKind,
    _ values: [String: SQLiteValue], loser: Stamp, winner: Stamp
  ) throws {
    if !isKeeping || values.keys.allSatisfy(shape.isAutomatic) { return }
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

  /// Keeps the limits, and tells observers.
  func finish() throws {
    guard hasChanged else { return }
    let inbox = transaction.tables.inbox
    let limits = transaction.inboxLimits
    // An earlier Tern stored children of deleted parents too, which follow from the state.
    let trim = try transaction.statement(
      """
      DELETE FROM \(inbox) WHERE kind = ?4 OR found_ms < \(NoteSQL.milliseconds) - ?1 OR id IN (
        SELECT id FROM (
          SELECT id, row_number() OVER newest AS number, sum(length(content)) OVER newest AS bytes
          FROM \(inbox) WHERE kind <> ?4 WINDOW newest AS (ORDER BY id DESC))
        WHERE number > ?2 OR bytes > ?3)
      """)
    trim.bind(1, limits.age.milliseconds)
    trim.bind(2, Int64(limits.entries))
    trim.bind(3, Int64(limits.bytes))
    trim.bind(4, copy: .string(ConflictKind.parentDeleted.rawValue))
    try trim.run()
    try transaction.dismissed.forgetGone()
    try transaction.db.notifyChanges(inTable: inbox)
  }
}
