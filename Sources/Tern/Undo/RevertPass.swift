import GRDB
import TernCore
import TernDatabase

/// Takes back what one author wrote after a point, by writes like any other, inside the caller's
/// transaction.
final class RevertPass {
  /// After which operation an author's are taken back.
  enum Start {
    case sequence(UInt64)
    case time(HybridTime)
  }

  private let transaction: StoreTransaction
  private let author: UInt32
  private var order: [RowID] = []
  private var rows: [RowID: RevertedRow] = [:]
  /// What is to be marked of each row, once it is taken back.
  private var corrections: [RowID: [RevertMark]] = [:]
  /// What was taken back.
  private(set) var taken: [RevertMark] = []
  /// Those that are taken back.
  private var operations: Set<LogID> = []
  private var times: Set<HybridTime> = []
  private var reverts = UndoneReverts()
  /// Whether any operation of the author is marked.
  private var hasMarks = false
  /// The group that is read.
  private var group: (end: UInt64, mark: UndoMark?) = (0, nil)
  private var unknownTables: Set<String> = []
  private var unmerged = 0
  /// Up to which the log may lack operations.
  private var trimmedTime = HybridTime.zero
  /// Of this replica's operations that reverted something before.
  private var revertStamps: Set<Stamp> = []

  init(_ transaction: StoreTransaction, author: UInt32) {
    self.transaction = transaction
    self.author = author
  }

  func run(after start: Start) throws -> RevertedOperations {
    hasMarks = try transaction.undone.hasMarks(of: author)
    try readWritten(after: start)
    reverts = try transaction.reverted.undone(of: author)
    if !order.isEmpty {
      for id in reverts.operations.sorted(by: { $0.rawValue < $1.rawValue }) { try readUndone(id) }
      for author in transaction.authors.ids.indices { try readOthers(UInt32(author)) }
    }
    revertStamps = try stampsOfReverts()
    let writes = UndoneWrites(author: author, times: times, reverts: reverts)
    var planned: [(row: UndoRow, plan: UndoRow.Plan)] = []
    for id in order {
      let (row, plan) = try plan(id, writes)
      if let plan { planned.append((row, plan)) }
    }
    let plans = try UndoWriting(transaction: transaction).run(
      planned.map(\.row), planned.map(\.plan))
    for ((row, _), plan) in zip(planned, plans) where plan.report.action != .left {
      let left = Set(
        row.shape.columns.filter { plan.report.left[$0.name] != nil }.map { Int64($0.id) })
      for mark in corrections[row.id] ?? [] {
        let columns = mark.columns.filter { !left.contains($0) }
        taken.append(RevertMark(id: mark.id, row: mark.row, columns: columns))
      }
    }
    return RevertedOperations(
      author: transaction.authors.ids[Int(author)], operations: operations.count,
      rows: plans.map(\.report), forgottenThrough: try forgotten(after: start),
      unmerged: unmerged, unknownTables: unknownTables.sorted())
  }

  /// The author's last operation that the log has no more, where that is one of those.
  private func forgotten(after start: Start) throws -> UInt64? {
    let row = try transaction.authorTable.row(author)
    let isAny =
      switch start {
      case .sequence(let sequence): row.trimmed > sequence
      case .time(let time): row.trimmed > 0 && row.trimmedTime > time
      }
    return isAny ? row.trimmed : nil
  }

  // MARK: - The log

  private func readWritten(after start: Start) throws {
    var first: UInt64 = 0
    if case .sequence(let sequence) = start {
      first = min(sequence, VersionVector.maximumSequence)
      // Of an operation of several parts none is left out.
      while first > 0, try continues(first) { first -= 1 }
    }
    try forEachOperation(of: author, after: first) { id, time, body in
      if case .time(let start) = start, time <= start { return }
      if try transaction.isWaiting(id) {
        unmerged += 1
        return
      }
      let mark = try mark(of: id)
      // Of this replica's own, under a former id too, those that were taken back, took back or
      // adopted rows are no part of it.
      if let mark, mark != .reverted { return }
      let isReverted = try transaction.reverted.isReverted(id)
      let stamp = Stamp(time: time, author: author)
      operations.insert(id)
      times.insert(time)
      try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: { _ in true }) {
        row, change in
        guard let shape = sql(row)?.shape else { return }
        if rows[row] == nil { order.append(row) }
        let corrected = try isReverted ? transaction.reverted.columns(of: row, in: id) : []
        let isCorrected = { (column: Int) in
          mark == .reverted || corrected.contains(Int64(shape.columns[column].id))
        }
        rows[row, default: RevertedRow()].add(
          change, shape, stamp, id, isCorrected: isCorrected, isByRevert: false,
          transaction.authors)
        let columns = change.columns.filter { !$0.content.isValue && !isCorrected($0.target) }
        corrections[row, default: []].append(
          RevertMark(
            id: id, row: row, columns: columns.map { Int64(shape.columns[$0.target].id) }))
      } unknown: {
        unknownTables.insert($0)
      }
    }
  }

  /// Of this replica's own groups, under a former id too, an undo marks the last operation alone.
  private func mark(of id: LogID) throws -> UndoMark? {
    if !hasMarks { return nil }
    if let mark = try transaction.undone.mark(of: id) { return mark }
    if id.sequence > group.end {
      group.end = id.sequence
      while try continues(group.end) { group.end += 1 }
      group.mark = try transaction.undone.mark(of: LogID(author: author, sequence: group.end))
    }
    return group.mark
  }

  private func continues(_ sequence: UInt64) throws -> Bool {
    try transaction.log.operation(LogID(author: author, sequence: sequence))?.envelope.continues
      ?? false
  }

  /// A revert that was undone, or what undid it: together they changed nothing that adds up.
  private func readUndone(_ id: LogID) throws {
    guard let operation = try transaction.log.operation(id) else { return }
    let stamp = Stamp(time: operation.envelope.time, author: id.author)
    try operation.bytes.withUnsafeBytes { bytes in
      let body = UnsafeRawBufferPointer(rebasing: bytes[operation.bodyOffset...])
      try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: { rows[$0] != nil }) {
        row, change in
        guard let shape = sql(row)?.shape else { return }
        rows[row]?.add(
          change, shape, stamp, id, isCorrected: { _ in true }, isByRevert: true,
          transaction.authors)
      }
    }
  }

  private func readOthers(_ author: UInt32) throws {
    let trimmed = try transaction.authorTable.row(author)
    if trimmed.trimmed > 0 { trimmedTime = max(trimmedTime, trimmed.trimmedTime) }
    try forEachOperation(of: author, after: 0) { id, time, body in
      if operations.contains(id) || reverts.operations.contains(id) { return }
      if try transaction.isWaiting(id) { return }
      let stamp = Stamp(time: time, author: author)
      try LoggedChange.forEach(in: body, of: transaction.sql, isWanted: { rows[$0] != nil }) {
        row, change in
        guard let shape = sql(row)?.shape else { return }
        rows[row]?.addOthers(change, shape, stamp, id, transaction.authors)
      }
    }
  }

  private func forEachOperation(
    of author: UInt32, after sequence: UInt64,
    _ body: (LogID, HybridTime, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let scan = try transaction.statement(
      "SELECT id, bytes FROM \(transaction.tables.log) WHERE id > ? AND id <= ? ORDER BY id")
    let stored = try transaction.authorTable.row(author).stored
    scan.bind(1, LogID(author: author, sequence: sequence).rawValue)
    scan.bind(2, LogID(author: author, sequence: stored).rawValue)
    defer { scan.reset() }
    while try scan.step() {
      let bytes = scan.blob(1)
      let (envelope, bodyOffset) = try SyncOperation.parse(bytes)
      try body(
        LogID(rawValue: scan.int64(0)), envelope.time,
        UnsafeRawBufferPointer(rebasing: bytes[bodyOffset...]))
    }
  }

  private func sql(_ id: RowID) -> TableSQL? {
    transaction.sql.first { $0.shape.id == id.table }
  }

  // MARK: - Rows

  private func plan(_ id: RowID, _ writes: UndoneWrites) throws -> (UndoRow, UndoRow.Plan?) {
    guard let sql = sql(id), let reverted = rows[id] else {
      preconditionFailure("an operation's row has no table")
    }
    let key = try id.key.withUnsafeBytes { try PackedKey.values($0) }
    let state = try transaction.states.state(of: key, sql)
    let isSettled = { [revertStamps] (stamp: Stamp) in revertStamps.contains(stamp) }
    let aim =
      state.map {
        reverted.aim(
          $0, sql.shape, writes, isTrimmed: trimmedTime > .zero, transaction.authors,
          isSettled: isSettled)
      } ?? .leave(.changedSince)
    let life = state.map { $0.isAlive ? $0.life : $0.life - 1 } ?? 1
    let (base, isDelete) = aim.before(life, reverted)
    let held = try transaction.held.content(in: .held, id.table, id.key).map(sql.shape.present)
    let kept = try transaction.held.content(in: .kept, id.table, id.key)
    let row = UndoRow(
      id: id, sql: sql, key: key, changes: reverted.changes(of: life, andEnd: isDelete),
      before: base, isMigrated: try isMigrated(id), state: state,
      shown: try held ?? TableWriter(transaction, sql, hasHeld: true).read(id.key),
      isHeld: held != nil, kept: base.life == life ? kept : nil, trimmedTime: trimmedTime,
      writes: writes, authors: transaction.authors)
    return (row, row.plan(aim, held: held, isSettled: isSettled))
  }

  private func isMigrated(_ id: RowID) throws -> Bool {
    try author == 0
      && transaction.migrated.holds(id.table, id.key, in: 0...VersionVector.maximumSequence)
  }

  private func stampsOfReverts() throws -> Set<Stamp> {
    var stamps: Set<Stamp> = []
    for id in try transaction.undone.ids(marked: .revert) {
      if let time = try transaction.log.operation(id)?.envelope.time {
        stamps.insert(Stamp(time: time, author: id.author))
      }
    }
    return stamps
  }
}

extension RevertedRow.Aim {
  /// What the row held before, and whether it is about the row's end.
  fileprivate func before(_ life: UInt32, _ row: RevertedRow) -> (RowBefore, isDelete: Bool) {
    switch self {
    case .bringBack(let life, let isOwn):
      let all = isOwn ? row.written[life]?.all : nil
      return (all ?? row.others[life] ?? RowBefore(life: life), true)
    case .restore(let life): return (row.others[life] ?? RowBefore(life: life), false)
    case .leave, .remove, .nothing:
      return (RowBefore(life: life), row.written[life]?.contents.isEmpty ?? true)
    }
  }
}

extension LoggedChange.Content {
  /// Whether a stamp tells if it stands.
  fileprivate var isValue: Bool {
    if case .value = self { true } else { false }
  }
}
