import GRDB
import TernCore
import TernDatabase

/// Takes back what one own operation did, by writes like any other, inside
/// the caller's transaction.
final class UndoPass {
  let transaction: StoreTransaction
  private let target: UndoTarget
  private var order: [RowID] = []
  private var changes: [RowID: [LoggedChange]] = [:]
  private var before: [RowID: RowBefore] = [:]
  /// Up to which the log may lack operations.
  private var trimmedTime = HybridTime.zero

  init(_ transaction: StoreTransaction, _ target: UndoTarget) {
    self.transaction = transaction
    self.target = target
  }

  func run() throws -> UndoneOperation {
    for operation in target.operations {
      try operation.bytes.withUnsafeBytes { bytes in
        let body = UnsafeRawBufferPointer(rebasing: bytes[operation.bodyOffset...])
        try transaction.forEachChange(in: body, isWanted: { _ in true }) { id, change in
          if changes[id] == nil {
            order.append(id)
            before[id] = RowBefore(life: change.life)
          }
          changes[id, default: []].append(change)
        }
      }
    }
    for author in transaction.authors.ids.indices { try readBefore(UInt32(author)) }
    // Whatever the order, a child finds its parent at the end.
    try transaction.db.execute(sql: "PRAGMA defer_foreign_keys = ON")
    // A cascade must not look like somebody else's delete, so all is decided before anything goes.
    let rows = try order.map(row)
    var plans = rows.map { $0.plan() }
    while try !isWritten(rows, &plans) {}
    return UndoneOperation(
      sequence: target.sequence, time: target.stamp.time, rows: plans.map(\.report))
  }

  /// Writes what is planned, or nothing, and plans anew.
  private func isWritten(_ rows: [UndoRow], _ plans: inout [UndoRow.Plan]) throws -> Bool {
    try keepParents(rows, &plans)
    let writes = zip(rows, plans).reversed().compactMap { row, plan in
      plan.write.map { (write: $0, row: row) }
    }
    var isWhole = false
    try transaction.db.inSavepoint {
      var writer = UndoWriter(transaction, writes)
      let kept = Dictionary(uniqueKeysWithValues: try writer.run().map { ($0.row.id, $0.reason) })
      for (index, row) in rows.enumerated() {
        if let reason = kept[row.id] { plans[index] = row.left(reason) }
      }
      isWhole = try kept.isEmpty && !leaveOrphans(rows, &plans)
      return isWhole ? .commit : .rollback
    }
    return isWhole
  }

  // MARK: - The log

  /// The most rows whose keys SQLite looks for; of more, every operation is decoded.
  private static let soughtKeys = 8

  private func readBefore(_ author: UInt32) throws {
    let row = try transaction.author(author)
    if row.trimmed > 0 { trimmedTime = max(trimmedTime, row.trimmedTime) }
    let keys = order.count <= Self.soughtKeys ? order.map(\.key) : []
    let holds = keys.indices.map { "instr(bytes, ?\($0 + 3)) > 0" }
    let scan = try transaction.statement(
      "SELECT id, bytes FROM \(transaction.tables.log) WHERE id > ?1 AND id <= ?2"
        + (holds.isEmpty ? "" : " AND (\(holds.joined(separator: " OR ")))") + " ORDER BY id")
    scan.bind(1, LogID(author: author, sequence: 0).rawValue)
    scan.bind(2, LogID(author: author, sequence: row.merged).rawValue)
    for (index, key) in keys.enumerated() { scan.bind(Int32(index + 3), copy: .blob(key)) }
    defer { scan.reset() }
    while try scan.step() {
      let (id, bytes) = (LogID(rawValue: scan.int64(0)), scan.blob(1))
      let (envelope, bodyOffset) = try SyncOperation.parse(bytes)
      let stamp = Stamp(time: envelope.time, author: author)
      guard transaction.authors.isLess(stamp, target.stamp), try !transaction.isWaiting(id) else {
        continue
      }
      let body = UnsafeRawBufferPointer(rebasing: bytes[bodyOffset...])
      try transaction.forEachChange(in: body, isWanted: isUndone) { row, change in
        guard let shape = sql(row)?.shape else { return }
        before[row]?.add(
          change, shape, stamp, sequence: id.sequence, transaction.authors)
      }
    }
  }

  private func isUndone(_ id: RowID) -> Bool { before[id] != nil }

  private func sql(_ id: RowID) -> TableSQL? {
    transaction.sql.first { $0.shape.id == id.table }
  }

  // MARK: - Rows

  private func row(_ id: RowID) throws -> UndoRow {
    guard let sql = sql(id), let changes = changes[id], let before = before[id] else {
      preconditionFailure("an operation's row has no table")
    }
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let read = try transaction.statement(sql.readState)
    _ = try writer.bind(id.key, to: read)
    let state = try read.step() ? try transaction.state(in: read, from: 0) : nil
    read.reset()
    let isNew = changes[0].kind == .insert && !before.isKnown
    return UndoRow(
      id: id, sql: sql, key: try id.key.withUnsafeBytes { try PackedKey.values($0) },
      changes: changes, before: before,
      isMigrated: try isNew && transaction.isMigrated(id.table, id.key, in: target.group.sequences),
      state: state, shown: try writer.read(id.key),
      isHeld: try transaction.isHeld(id.table, id.key),
      kept: try transaction.storedContent(in: .kept, id.table, id.key), trimmedTime: trimmedTime,
      target: target, authors: transaction.authors)
  }
}
