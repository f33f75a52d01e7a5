import GRDB
import TernCore
import TernDatabase

/// Merges a whole log anew, and compares the states that come out with those that are here.
///
/// Only where nothing of the log was trimmed and nothing of it waits: otherwise a state may hold
/// what the log does not say. And only where all of it is of the present schema version: what an
/// older one calls by another name, only the app's schema says. Whatever else is wrong with the log
/// or a state is told before, and then the two are not compared.
struct ReplayDoctor {
  private let transaction: StoreTransaction
  private let findings: Findings
  private let noted: [NotedKeys]

  init(_ transaction: StoreTransaction, _ findings: Findings, _ noted: [NotedKeys]) {
    (self.transaction, self.findings, self.noted) = (transaction, findings, noted)
  }

  func run() throws {
    guard try isWhole() else { return }
    try DatabaseQueue().write { db in
      let rows = try ReplayedRows(db, for: transaction)
      guard try replay(into: rows) else { return }
      for (sql, noted) in zip(transaction.sql, noted) { try compare(sql, noted, with: rows) }
    }
  }

  private func isWhole() throws -> Bool {
    let broken: [DiagnosisCheck] = [
      .integrity, .storeTable, .catalogue, .authors, .tableGone, .tableChanged, .columnGone,
      .logGap, .logBeyond, .logDamaged, .logMismatch, .logTime, .logGroup, .logBody,
      .waitingLost, .waitingKnown, .stateDamaged, .stateForm, .stateAhead,
    ]
    guard broken.allSatisfy({ findings.counts[$0] == nil }), !transaction.waiting.hasGroups,
      try !transaction.waiting.hasParts(),
      // What a snapshot brought of another copy is in the state, and not in the log.
      try !transaction.remotes.hasForks()
    else { return false }
    return try transaction.authors.ids.indices.allSatisfy {
      try transaction.authorTable.row(UInt32($0)).trimmed == 0
    }
  }

  // MARK: - The log

  /// - Returns: whether all of the log is of this schema version.
  private func replay(into rows: ReplayedRows) throws -> Bool {
    let scan = try transaction.statement("SELECT id, bytes FROM \(transaction.tables.log)")
    defer { scan.reset() }
    while try scan.step() {
      let id = LogID(rawValue: scan.int64(0))
      guard id.sequence <= (try transaction.authorTable.row(id.author)).merged else { continue }
      let envelope = try SyncOperation.parse(scan.blob(1)).0
      guard envelope.schemaVersion == transaction.schemaVersion else { return false }
      try rows.note(id, at: envelope.time)
    }
    try rows.forEachOperation { id in
      if let operation = try transaction.log.operation(id) { try merge(operation, id, into: rows) }
    }
    return true
  }

  private func merge(_ operation: SyncOperation, _ id: LogID, into rows: ReplayedRows) throws {
    let stamp = Stamp(time: operation.envelope.time, author: id.author)
    var row = BodyRow()
    try operation.forEachBlock { block, reader in
      let shape = transaction.sql.first { $0.shape.holdsRows(of: block) }?.shape
      let mapping = shape?.mapping(of: block)
      while try reader.nextRow(&row, of: block) {
        guard let shape, let mapping, shape.holds(row.key) else { continue }
        var state = try rows.state(of: row.packedKey, in: shape.id) ?? RowState(life: 0)
        let isNews = try state.merge(
          row, of: shape, mapping.targets, stamp: stamp, sequence: id.sequence,
          transaction.authors)
        if isNews { try rows.put(state, of: row.packedKey, in: shape.id) }
      }
    }
  }

  // MARK: - The states

  private func compare(_ sql: TableSQL, _ noted: NotedKeys, with rows: ReplayedRows) throws {
    let shape = sql.shape
    let scan = try transaction.statement("SELECT * FROM \(sql.note.rowTable)")
    defer { scan.reset() }
    while try scan.step() {
      let key = scan.packedKey(shape)
      let expected = try key.withUnsafeBytes { try rows.state(of: $0, in: shape.id) }
      try key.withUnsafeBytes { try rows.remove($0, in: shape.id) }
      guard let state = try scan.state(from: Int32(shape.keyColumns.count)),
        try isComparable(key, noted, shape)
      else { continue }
      var place = DatabaseFinding.Place(table: shape.name, key: try WrittenValues.text(key))
      guard let expected else {
        try findings.add(.stateReplay, "no operation of the log is about the row", at: place)
        continue
      }
      guard let difference = state.difference(from: expected, shape) else { continue }
      place.column = difference.column
      try findings.add(.stateReplay, difference.what, at: place)
    }
    try rows.forEachLeft(in: shape.id) { key in
      guard try isComparable(key, noted, shape) else { return }
      try findings.add(
        .stateReplay, "the log has operations about the row, and no state is here",
        at: .init(table: shape.name, key: try WrittenValues.text(key)))
    }
  }

  /// What was written and not sealed, or is too large to travel, is in no operation.
  private func isComparable(_ key: [UInt8], _ noted: NotedKeys, _ shape: TableShape) throws
    -> Bool
  {
    try !noted.contains(key)
      && !transaction.large.holds(key, of: shape.id)
  }
}

extension RowState {
  /// Merges a row of an operation, as ``RowMerger`` does.
  ///
  /// - Parameter targets: for each column of the operation the shape's.
  /// - Returns: whether it counts.
  fileprivate mutating func merge(
    _ row: BodyRow, of shape: TableShape, _ targets: [Int?], stamp: Stamp, sequence: UInt64,
    _ authors: Authors
  ) throws -> Bool {
    let change = RowChange(
      kind: row.kind == .insert ? .insert : row.kind == .delete ? .delete : .update,
      life: row.life, stamp: stamp, sequence: sequence, covered: row.covered)
    if begin(change, deletes: shape.deletes, authors: authors) == .beaten { return false }
    for (source, target) in targets.enumerated() where source < row.values.count {
      guard let target, row.isCarried[source] else { continue }
      let column = shape.columns[target]
      _ = try mergeColumn(
        UInt32(column.id), rule: column.rule, value: row.values[source], stamp: stamp,
        turn: Turn(sequence), authors: authors)
    }
    if row.kind == .insert { finishInsert(stamp, rules: shape.rules, authors: authors) }
    settle(shape.deletes, after: change, authors: authors)
    return true
  }

  /// What two replicas' states of the same operations would never differ in.
  fileprivate func difference(
    from other: RowState, _ shape: TableShape
  ) -> (column: String?, what: String)? {
    if life != other.life {
      return (nil, "its life is \(life), and the log's operations make it \(other.life)")
    }
    if stamp != other.stamp || isShown != other.isShown {
      return (nil, "the log's operations say otherwise who wrote or deleted it last")
    }
    guard isAlive else { return nil }
    for column in shape.columns {
      let id = UInt32(column.id)
      if stamp(of: id) != other.stamp(of: id) {
        return (column.name, "the log's operations say otherwise who wrote it last")
      }
      if computed(id) != other.computed(id) {
        return (column.name, "the log's operations make another value")
      }
    }
    return nil
  }
}
