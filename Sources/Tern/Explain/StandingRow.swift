import TernCore
import TernDatabase

/// One row as its state and its table have it, and up to where the log made that state: all read
/// in one transaction.
struct StandingRow {
  let state: RowState?
  /// What the state has of it, where it stands in its table.
  let shown: [String: SQLiteValue]?
  /// What is quarantined of it, or kept while it is deleted, under the columns' present names.
  let aside: [String: SQLiteValue]?
  let heldReason: HeldReason?
  let missingParents: [RowExplanation.Reference]
  /// The rows of its table that hold what it would, in a UNIQUE index.
  let rivals: [RowExplanation.Reference]
  let isTooLarge: Bool
  let authors: Authors
  /// By author: how far the log and the state go.
  let rows: [AuthorRow]
  let groupsPutAside: [LogGroup]

  init(_ row: LoggedRow, _ sql: TableSQL, in transaction: StoreTransaction) throws {
    let read = try transaction.statement(sql.readState)
    for (index, value) in row.key.enumerated() { read.bind(Int32(index + 1), copy: value) }
    state = try read.step() ? try read.state(from: 0) : nil
    read.reset()
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    shown = try writer.read(row.packedKey)
    aside = try writer.aside(row.packedKey)
    let held = try transaction.held.reason(of: RowID(table: sql.shape.id, key: row.packedKey))
    heldReason = held ?? (aside == nil ? nil : .deleted)
    missingParents =
      [.parent, .orphaned, .veiled].contains(heldReason)
      ? try row.missingParents(shown ?? aside ?? [:], in: transaction) : []
    rivals =
      heldReason == .unique || heldReason == .folded
      ? try row.rivals(writer.readShown(row.packedKey) ?? aside ?? [:], sql, in: transaction) : []
    isTooLarge = try transaction.large.holds(row.packedKey, of: sql.shape.id)
    authors = transaction.authors
    rows = try authors.ids.indices.map { try transaction.authorTable.row(UInt32($0)) }
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
    if heldReason == .removal { return .quarantined(.removal, []) }
    if let deletion { return .deleted(authors.stamp(deletion)) }
    if heldReason == .folded { return .folded(into: rivals) }
    if heldReason == .veiled { return .veiled(without: missingParents) }
    if let kind = heldReason?.kind { return .quarantined(kind, missingParents + rivals) }
    return shown == nil ? .missing : .shown
  }

  /// What the table shows of a column, or would show.
  func value(of column: TableShape.Column) -> SQLiteValue? {
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

extension LoggedRow {
  /// The rows that it refers to and that are not in their tables.
  func missingParents(_ content: [String: SQLiteValue], in transaction: StoreTransaction) throws
    -> [RowExplanation.Reference]
  {
    let named = content.map { ($0.key.folded, $0.value) }
    let keys = zip(shape.keyColumns.map(\.folded), key)
    let values = Dictionary(named + keys, uniquingKeysWith: { $1 })
    return try shape.foreignKeys.compactMap { foreignKey in
      let refers = foreignKey.columns.map { values[$0.folded] ?? .null }
      if refers.contains(.null) { return nil }
      let match = foreignKey.parentColumns.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
      let select = try transaction.statement(
        "SELECT 1 FROM main.\(foreignKey.parent.quoted) WHERE \(match)")
      for (index, value) in refers.enumerated() { select.bind(Int32(index + 1), copy: value) }
      if try select.first({}) != nil { return nil }
      return RowExplanation.Reference(
        table: foreignKey.parent, columns: foreignKey.parentColumns, values: refers)
    }
  }

  /// The rows in the table that keep it out.
  func rivals(_ content: [String: SQLiteValue], _ sql: TableSQL, in transaction: StoreTransaction)
    throws
    -> [RowExplanation.Reference]
  {
    let writer = try TableWriter(transaction, sql, hasHeld: true)
    return try writer.rivals(of: packedKey, content: content).map { key in
      let values = try shape.values(key, [:])
      return RowExplanation.Reference(
        table: shape.name, columns: shape.keyColumns,
        values: shape.keyColumns.compactMap { values[$0.folded] })
    }
  }
}
