import TernCore
import TernDatabase

/// Decides at the end of a merge which rows can be shown, as a function of the state alone, so that
/// equal states give equal tables (INV-01):
///
/// 0. What rows show of references to deleted rows: ``Veil``.
/// 1. Of the rows that CHECK and NOT NULL accept, the greatest set in which every row has its
///    parents: those of them that can stand but for UNIQUE.
/// 2. Of these, walked in the order of their ``Creation``, each that collides in no UNIQUE index
///    with one before it.
/// 3. Of these, again the greatest set in which every row has its parents.
///
/// Rows in the tables cannot collide with each other. So it is enough to begin with all of them and
/// with the quarantined rows, whatever the order in which they arrived.
final class Settlement {
  let transaction: StoreTransaction
  private(set) var writers: [Int64: TableWriter]
  /// Rows that stand but for UNIQUE, while the first two steps are decided.
  var waiting: [RowID: WaitingRow] = [:]
  /// Rows that came to the walk while it went on.
  private var walked: Set<RowID> = []
  /// Rows in their tables that may lose their parents in the second step.
  var leaning: Set<RowID> = []
  /// Tables that rows refer to by other columns than the key, or by more; and those of them that
  /// changed.
  lazy var looseParents = findLooseParents()
  var looselyReferredTo: Set<Int64> = []
  /// Tables whose rows UNIQUE may keep out, and those that such rows refer to: a parent that has
  /// not won its place yet counts for these. Rows of other tables are shown once all
  /// that is decided.
  lazy var contested: Set<Int64> = {
    var found = transaction.sql.filter { !$0.shape.uniques.isEmpty }.map(\.shape)
    var ids = Set(found.map(\.id))
    while let shape = found.popLast() {
      found += shape.foreignKeys.compactMap(transaction.sql.parent).filter {
        ids.insert($0.id).inserted
      }
    }
    return ids
  }()
  /// Rows that were quarantined for a deleted parent before they were looked at.
  var knownOrphans: Set<RowID> = []
  /// Rows that are quarantined now because a parent is deleted, and were not before.
  var newOrphans = 0
  let parents: DeletedParents

  init(_ transaction: StoreTransaction, writers: [Int64: TableWriter]) throws {
    self.transaction = transaction
    self.writers = writers
    parents = DeletedParents(transaction)
  }

  func run() throws -> [Int64: TableWriter] {
    if Planted.isActive(.pageUnsettled), writers.count == 1 { return writers }
    if try transaction.held.isUnsettled() { try takeNoted() }
    try liftVeils()
    try wakeBelow()
    try showHeld(transaction.sql)
    if !waiting.isEmpty {
      try holdOrphans()
      try walk()
      waiting.removeAll()
      try holdOrphans()
      // Their parents have won or lost their places.
      try showHeld(transaction.sql.filter { !contested.contains($0.shape.id) })
    }
    // Also of tables that this settlement alone wrote to, as where a parent came.
    for writer in writers.values { try PointedRows(transaction: transaction).wake(writer.sql) }
    repeat { try holdOrphans() } while try settlePointers()
    try settleHeld()
    for writer in writers.values { writer.tellShown() }
    return writers
  }

  func writer(_ sql: TableSQL) throws -> TableWriter {
    if let writer = writers[sql.shape.id] { return writer }
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    writers[sql.shape.id] = writer
    return writer
  }

  // MARK: - UNIQUE

  /// Shows the waiting rows that collide with none created before them, in the place of those
  /// created after them.
  private func walk() throws {
    var queue = WalkQueue(waiting.values)
    while let row = queue.next() {
      let writer = try writer(row.sql)
      let rivals = try writer.rivals(of: row.key, content: row.content)
      let creations = try rivals.map { try writer.creation(of: $0) }
      if Planted.isActive(.uniqueByArrival), !rivals.isEmpty { continue }
      let first = zip(rivals, creations).min { $0.1 < $1.1 }
      if let first, first.1 < row.creation {
        if writer.folds { try fold(row, into: first.0, writer) }
        continue
      }
      for (key, creation) in zip(rivals, creations) {
        let content = try writer.readShown(key) ?? [:]
        var loser = WaitingRow(
          sql: row.sql, key: key, content: content, creation: creation,
          veil: try writer.veil(of: key))
        if writer.folds {
          loser.isFolded = try fold(loser, into: row.key, writer)
        } else {
          try writer.hold(key, .unique, adding: [:])
        }
        // Its turn comes: what it collides with now may be refused by something else.
        queue.add(loser)
        try addWaiters(of: RowID(table: row.sql.shape.id, key: key), to: &queue)
      }
      if row.isFolded {
        try unfold(row, writer)
      } else if let refused = try show(row, writer) {
        try writer.hold(row.key, refused.reason, adding: refused.content)
      }
    }
  }

  /// Adds the rows that one which went kept out, and at which nothing before had the walk look: all
  /// of them were created after it.
  private func addWaiters(of row: RowID, to queue: inout WalkQueue) throws {
    for waiter in try transaction.held.waiters(of: row) where walked.insert(waiter).inserted {
      guard waiting[waiter] == nil, let reason = try transaction.held.reason(of: waiter),
        let sql = transaction.sql.first(where: { $0.shape.id == waiter.table })
      else { continue }
      switch reason {
      case .unique:
        let held = try transaction.held.content(in: .held, waiter.table, waiter.key)
        if let held { queue.add(try waitingRow(waiter, sql.shape.present(held), sql)) }
      case .folded:
        let writer = try writer(sql)
        guard let content = try writer.readShown(waiter.key) else { continue }
        queue.add(
          WaitingRow(
            sql: sql, key: waiter.key, content: content,
            creation: try writer.creation(of: waiter.key), isFolded: true))
      default: continue
      }
    }
  }

  /// A row that is quarantined, as its table would show it.
  ///
  /// - Parameter content: what the state has of it.
  func waitingRow(_ row: RowID, _ content: [String: SQLiteValue], _ sql: TableSQL) throws
    -> WaitingRow
  {
    let veil = try parents.veil(over: content, of: row.key, sql)
    return WaitingRow(
      sql: sql, key: row.key, content: veil?.laid(over: content) ?? content,
      creation: try writer(sql).creation(of: row.key, veil: veil), veil: veil)
  }
}
