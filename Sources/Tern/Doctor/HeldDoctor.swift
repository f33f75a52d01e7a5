import GRDB
import TernCore
import TernDatabase

/// Looks at rows that are in the state and not in their tables: whether the reason still stands.
struct HeldDoctor {
  private let transaction: StoreTransaction
  private let findings: Findings
  /// What is written and not sealed may be what such a row waits for.
  private let hasNotes: Bool
  /// For what rows refer to. It settles nothing.
  private let settlement: Settlement
  private var tables: StoreTables { transaction.tables }

  init(_ transaction: StoreTransaction, _ findings: Findings, _ noted: [NotedKeys]) throws {
    (self.transaction, self.findings) = (transaction, findings)
    settlement = try Settlement(transaction, writers: [:])
    hasNotes = noted.contains { $0.count > 0 }
  }

  func run() throws {
    for sql in transaction.sql {
      try checkHeld(sql)
      if sql.shape.deletes.keepsContent { try checkKept(sql) }
    }
  }

  /// - Returns: `nil` where it cannot be read.
  private func content(
    _ select: FastStatement, _ place: DatabaseFinding.Place, _ check: DiagnosisCheck
  ) throws -> [String: SQLiteValue]? {
    do {
      return try HeldTable.readContent(select.blob(1))
    } catch is WireError {
      try findings.add(check, "what is held of the row cannot be read", at: place)
      return nil
    }
  }

  private func place(_ sql: TableSQL, _ key: [UInt8]) throws -> DatabaseFinding.Place {
    do {
      return .init(table: sql.shape.name, key: try WrittenValues.text(key))
    } catch is WireError {
      return .init(table: sql.shape.name, key: "damaged")
    }
  }

  private func checkHeld(_ sql: TableSQL) throws {
    var counts: [HeldReason: Int] = [:]
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let trial = try TableTrial(sql.shape, transaction.db)
    let select = try transaction.statement(
      "SELECT key, content, reason FROM \(tables.held) WHERE tbl = ? ORDER BY key")
    select.bind(1, sql.shape.id)
    defer { select.reset() }
    while try select.step() {
      let key = Array(select.blob(0))
      let place = try place(sql, key)
      let reason = select.value(2).value?.string.flatMap(HeldReason.init)
      guard let reason, reason.place == .held, place.key != "damaged" else {
        try findings.add(.heldStray, "its key or its reason is none", at: place)
        continue
      }
      counts[reason, default: 0] += 1
      guard let content = try content(select, place, .heldStray) else { continue }
      let state: RowState?
      do {
        state = try writer.state(of: key)
      } catch is WireError {
        continue
      }
      if !hasNotes, let found = try settlement.parents.wrongVeil(on: key, writer) {
        try findings.add(.heldStands, found, at: place)
      }
      if reason == .veiled { continue }
      if reason == .folded {
        if !hasNotes { try checkFolded(key, place, writer) }
        continue
      }
      if reason == .removal {
        if try writer.read(key) == nil, !hasNotes {
          try findings.add(
            .heldStands, "the row is quarantined as one that is to go, and is gone", at: place)
        }
        continue
      }
      guard let state else {
        if try !transaction.large.holds(key, of: sql.shape.id) {
          try findings.add(.heldStray, "the row is quarantined, and no state knows it", at: place)
        }
        continue
      }
      guard state.isAlive, !state.isDeleted else {
        try findings.add(.heldStray, "the row is quarantined, and is deleted", at: place)
        continue
      }
      if hasNotes { continue }
      let row = Row(writer: writer, key: key, content: sql.shape.present(content), state: state)
      if try !stands(reason, row, trial) {
        try findings.add(
          .heldStands, "nothing keeps the row out any more that is quarantined (\(reason.word))",
          at: place)
      }
    }
    for (reason, word) in [(HeldReason.folded, "folded"), (.veiled, "shown without a parent")] {
      guard let count = counts.removeValue(forKey: reason) else { continue }
      try findings.add(.held, "\(count) rows are \(word)", at: .init(table: sql.shape.name))
    }
    if !hasNotes { try checkPointers(sql) }
    for (reason, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      try findings.add(
        .held, "\(count) rows are quarantined (\(reason.word))", at: .init(table: sql.shape.name))
    }
  }

  private func checkFolded(
    _ key: [UInt8], _ place: DatabaseFinding.Place, _ writer: TableWriter
  ) throws {
    let content = try writer.readShown(key)
    let winner = try content.flatMap {
      try RivalSearch(writer: writer).winner(over: key, content: $0)
    }
    if writer.folds, try winner == nil || writer.pointer(of: key) != winner {
      try findings.add(
        .heldStands, "the row points to another than the one that it collides with", at: place)
    }
  }

  private func checkPointers(_ sql: TableSQL) throws {
    for key in try PointedRows(transaction: transaction).unknown(sql) {
      try findings.add(
        .heldStray, "the row points to another, and something else than Tern wrote that",
        at: place(sql, key))
    }
  }

  private struct Row {
    let writer: TableWriter
    let key: [UInt8]
    let content: [String: SQLiteValue]
    let state: RowState
  }

  private func stands(_ reason: HeldReason, _ row: Row, _ trial: TableTrial?) throws -> Bool {
    let shape = row.writer.sql.shape
    let key = try row.key.withUnsafeBytes { try PackedKey.values($0) }
    switch reason {
    case .incomplete: return !row.state.isComplete
    case .parent, .orphaned:
      guard row.state.isComplete else { return false }
      let logged = try LoggedRow(shape, key: key)
      return try !logged.missingParents(row.content, in: transaction).isEmpty
    case .unique:
      guard row.state.isComplete else { return false }
      let id = RowID(table: shape.id, key: row.key)
      let shown = try settlement.waitingRow(id, row.content, row.writer.sql).content
      if try !row.writer.rivals(of: row.key, content: shown).isEmpty { return true }
      // A rival that came before it can be quarantined itself, because its parent lost a place.
      let others = try transaction.statement(
        "SELECT 1 FROM \(tables.held) WHERE tbl = ? AND reason IN ('parent', 'orphaned') LIMIT 1")
      others.bind(1, shape.id)
      defer { others.reset() }
      return try others.step()
    case .constraint:
      guard row.state.isComplete else { return false }
      return try trial?.refuses(key, row.content) ?? true
    case .deleted, .removal, .folded, .veiled: return true
    }
  }

  private func checkKept(_ sql: TableSQL) throws {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    let select = try transaction.statement(
      "SELECT key, content FROM \(tables.kept) WHERE tbl = ? ORDER BY key")
    select.bind(1, sql.shape.id)
    defer { select.reset() }
    while try select.step() {
      let key = Array(select.blob(0))
      let place = try place(sql, key)
      guard place.key != "damaged" else {
        try findings.add(.keptStray, "its key is none", at: place)
        continue
      }
      guard try content(select, place, .keptStray) != nil else { continue }
      do {
        if try writer.state(of: key)?.isDeleted != true {
          try findings.add(
            .keptStray, "what a deleted row held is kept, and the row is not deleted", at: place)
        }
      } catch is WireError {
        continue
      }
    }
  }
}
