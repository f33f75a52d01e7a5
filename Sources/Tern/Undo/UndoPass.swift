import GRDB
import TernCore
import TernDatabase

/// Takes back what one own operation did, by writes like any other, inside
/// the caller's transaction.
final class UndoPass {
  private let transaction: StoreTransaction
  private let target: UndoTarget
  private var order: [RowID] = []
  private var changes: [RowID: [LoggedChange]] = [:]
  private var before: [RowID: RowBefore] = [:]
  /// Rows that were taken back, with the columns of them that were not left.
  private(set) var taken: [(row: RowID, columns: [Int64])] = []
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
        try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: { _ in true }) {
          id, change in
          if changes[id] == nil {
            order.append(id)
            before[id] = RowBefore(life: change.life)
          }
          changes[id, default: []].append(change)
        }
      }
    }
    for author in transaction.authors.ids.indices { try readBefore(UInt32(author)) }
    let rows = try order.map(row)
    let plans = try UndoWriting(transaction: transaction).run(rows, rows.map { $0.plan() })
    for (row, plan) in zip(rows, plans) where plan.report.action != .left {
      let columns = row.shape.columns.filter { plan.report.left[$0.name] == nil }
      taken.append((row.id, columns.map { Int64($0.id) }))
    }
    return UndoneOperation(
      sequence: target.sequence, time: target.stamp.time, rows: plans.map(\.report))
  }

  // MARK: - The log

  /// The most rows whose keys SQLite looks for; of more, every operation is decoded.
  private static let soughtKeys = 8

  private func readBefore(_ author: UInt32) throws {
    let row = try transaction.authorTable.row(author)
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
      try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: isUndone) { row, change in
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
    let key = try id.key.withUnsafeBytes { try PackedKey.values($0) }
    let isNew = changes[0].kind == .insert && !before.isKnown
    return UndoRow(
      id: id, sql: sql, key: key,
      changes: changes, before: before,
      isMigrated: try isNew
        && transaction.migrated.holds(id.table, id.key, in: target.group.sequences),
      state: try transaction.states.state(of: key, sql), shown: try writer.read(id.key),
      isHeld: try transaction.held.holds(id.table, id.key),
      kept: try transaction.held.content(in: .kept, id.table, id.key), trimmedTime: trimmedTime,
      writes: target.writes, authors: transaction.authors)
  }
}
