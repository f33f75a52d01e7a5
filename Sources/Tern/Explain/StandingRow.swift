import TernCore
import TernDatabase

/// One row as its state and its table have it, and up to where the log made that state: all read
/// in one transaction.
struct StandingRow {
  let state: RowState?
  /// As it stands in its table.
  let shown: [String: Value]?
  /// What is held aside of it, or kept while it is deleted, under the columns' present names.
  let aside: [String: Value]?
  let heldReason: HeldReason?
  let missingParents: [RowExplanation.Reference]
  /// The rows of its table that hold what it would, in a UNIQUE index.
  let rivals: [RowExplanation.Reference]
  let isTooLarge: Bool
  let authors: Authors
  /// By author: how far the log and the state go.
  let rows: [StoreTransaction.AuthorRow]
  let groupsPutAside: [LogGroup]

  init(_ row: LoggedRow, _ sql: TableSQL, in transaction: StoreTransaction) throws {
    let read = try transaction.statement(sql.readState)
    for (index, value) in row.key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    state = try read.step() ? try transaction.state(in: read, from: 0) : nil
    read.reset()
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    shown = try writer.read(row.packedKey)
    aside = try writer.aside(row.packedKey)
    let held = try transaction.heldReason(RowID(table: sql.shape.id, key: row.packedKey))
    heldReason = held ?? (aside == nil ? nil : .deleted)
    missingParents =
      heldReason == .parent || heldReason == .orphaned
      ? try transaction.missingParents(of: row, content: aside ?? [:]) : []
    rivals =
      heldReason == .unique ? try transaction.rivals(of: row, sql, content: aside ?? [:]) : []
    isTooLarge = try transaction.isTooLarge(row.packedKey, of: sql.shape.id)
    authors = transaction.authors
    rows = try authors.ids.indices.map { try transaction.author(UInt32($0)) }
    groupsPutAside = try transaction.waiting.groups()
  }

  /// Whether the state has taken in an operation.
  func isMerged(_ id: LogID) -> Bool {
    id.sequence <= rows[Int(id.author)].merged
      && !groupsPutAside.contains { $0.author == id.author && $0.sequences ~= id.sequence }
  }

  /// The delete by which the row is deleted.
  var deletion: Stamp? {
    state?.deletion
  }

  /// The life whose writes made the row: of a deleted one, that which ended.
  var writtenLife: UInt32? {
    state.map { $0.isAlive ? $0.life : $0.life - 1 }
  }

  var standing: RowExplanation.Standing {
    guard state != nil else { return shown == nil ? .unknown : .unsynced }
    if heldReason == .removal { return .heldAside(.removal) }
    if let deletion { return .deleted(authors.stamp(deletion)) }
    switch heldReason {
    case .constraint: return .heldAside(.constraint)
    case .parent, .orphaned: return .heldAside(.parent(missingParents))
    case .unique: return .heldAside(.unique(rivals))
    case .incomplete: return .heldAside(.incomplete)
    case .removal, .deleted, nil: return shown == nil ? .missing : .shown
    }
  }

  /// What the table shows of a column, or would show.
  func value(of column: TableShape.Column) -> Value? {
    (shown ?? aside)?[column.name] ?? state?.computed(UInt32(column.id))
  }

  /// The writes on account of which deletes do not stand.
  func survivors(_ rule: DeleteRule) -> [Survivor] {
    guard let state, let presence = state.presence, presence.deletion != nil, !state.isDeleted
    else { return [] }
    if rule == .lastWriter {
      let last = presence.lastWrite ?? state.latestStamp(authors: authors)
      return last.map { [.stamp($0)] } ?? []
    }
    return presence.writes.sorted { $0.key < $1.key }
      .filter { presence.covered[authors.ids[Int($0.key)]] < $0.value }
      .map { .operation(LogID(author: $0.key, sequence: $0.value)) }
  }

  enum Survivor {
    case stamp(Stamp)
    case operation(LogID)
  }
}

extension RowState {
  /// The delete by which the row is deleted.
  var deletion: Stamp? {
    if isDeleted { return presence?.deletion }
    return isAlive ? nil : stamp
  }
}

extension StoreTransaction {
  /// The rows that one held aside refers to and that are not in their tables.
  func missingParents(of row: LoggedRow, content: [String: Value]) throws
    -> [RowExplanation.Reference]
  {
    let named = content.map { ($0.key.folded, $0.value) }
    let keys = zip(row.shape.keyColumns.map(\.folded), row.key)
    let values = Dictionary(named + keys, uniquingKeysWith: { $1 })
    return try row.shape.foreignKeys.compactMap { foreignKey in
      let refers = foreignKey.columns.map { values[$0.folded] ?? .null }
      if refers.contains(.null) { return nil }
      let match = foreignKey.parentColumns.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
      let select = try statement("SELECT 1 FROM main.\(foreignKey.parent.quoted) WHERE \(match)")
      for (index, value) in refers.enumerated() { select.bind(Int32(index + 1), copy: value) }
      defer { select.reset() }
      if try select.step() { return nil }
      return RowExplanation.Reference(
        table: foreignKey.parent, columns: foreignKey.parentColumns, values: refers)
    }
  }

  /// The rows in the table that keep out one held aside.
  func rivals(of row: LoggedRow, _ sql: TableSQL, content: [String: Value]) throws
    -> [RowExplanation.Reference]
  {
    let keys = row.shape.keyColumns
    return try TableWriter(self, sql, hasHeld: true).rivals(of: row.packedKey, content: content)
      .map { key in
        let values = try row.shape.values(key, [:])
        return RowExplanation.Reference(
          table: row.shape.name, columns: keys, values: keys.compactMap { values[$0.folded] })
      }
  }

  func isTooLarge(_ key: [UInt8], of table: Int64) throws -> Bool {
    let select = try statement("SELECT 1 FROM \(tables.large) WHERE tbl = ? AND key = ?")
    defer { select.reset() }
    return try key.withUnsafeBytes { key in
      select.bind(1, table)
      select.bind(2, blob: key)
      return try select.step()
    }
  }
}
