import Foundation
import GRDB
import TernCore
import TernDatabase

/// The entries of rows that are in the state and not in their tables, by table and then by key.
///
/// None is stored: each is made of what is held, and of the rows in the way. So it is the same on
/// every device with the same state.
final class KeptOutRows {
  private let transaction: StoreTransaction
  private let rows: RowCursor
  /// For looking up parents. It settles nothing.
  private let settlement: Settlement
  /// What columns show in which nothing was written, by table and column.
  private var defaults: [Int64: [String: SQLiteValue]] = [:]

  /// - Returns: `nil` where no kind of theirs is wanted.
  convenience init?(_ transaction: StoreTransaction, _ request: Inbox.Request) throws {
    let reasons = HeldReason.byKind.filter { request.wants($0.key) }
      .map { "'\($0.value.rawValue)'" }
    if reasons.isEmpty || request.limit < 1 { return nil }
    let after = request.after.flatMap { entry in
      entry.id > 0
        ? nil
        : transaction.sql.first { $0.shape.name.folded == entry.table.folded }
          .map { RowID(table: $0.shape.id, key: PackedKey.bytes(of: entry.key)) }
    }
    try self.init(
      transaction, "reason IN (\(reasons.joined(separator: ", "))) AND (tbl, key) > (?, ?)",
      after ?? RowID(table: -1, key: []))
  }

  private init(_ transaction: StoreTransaction, _ condition: String, _ row: RowID) throws {
    self.transaction = transaction
    settlement = try Settlement(transaction, writers: [:])
    // What is held of tables that do not sync any more has no name here.
    let tables = transaction.sql.map { "\($0.shape.id)" }.joined(separator: ", ")
    rows = try Row.fetchCursor(
      transaction.db,
      sql: """
        SELECT tbl, key, content, reason FROM \(transaction.tables.held)
        WHERE tbl IN (\(tables)) AND \(condition) ORDER BY tbl, key
        """, arguments: [row.table, Data(row.key)])
  }

  static func entry(of row: RowID, in transaction: StoreTransaction) throws -> InboxEntry? {
    try KeptOutRows(transaction, "tbl = ? AND key = ?", row).next()
  }

  func next() throws -> InboxEntry? {
    while let row = try rows.next() {
      if let entry = try entry(row) { return entry }
    }
    return nil
  }

  private func entry(_ row: Row) throws -> InboxEntry? {
    let id = RowID(table: row["tbl"], key: Array(row["key"] as Data))
    guard let kind = HeldReason(rawValue: row["reason"])?.kind,
      let sql = transaction.sql.first(where: { $0.shape.id == id.table })
    else { return nil }
    if Planted.isActive(.displacedUnlisted), kind == .displaced { return nil }
    let writer = try settlement.writer(sql)
    let held = try Array(row["content"] as Data).withUnsafeBytes { try HeldTable.readContent($0) }
    let isInTable = kind == .folded || kind == .veiled
    guard var content = isInTable ? try writer.read(id.key) : sql.shape.present(held) else {
      return nil
    }
    let state = try writer.state(of: id.key)
    // Of what is made of several writes the state knows too what changed nothing.
    if kind == .incomplete, let state {
      content.merge(sql.shape.computed(of: state)) { $1 }
    }
    let (rows, winner) = try inTheWay(of: id, content, kind, writer)
    let latest = state.flatMap { $0.latestStamp(authors: transaction.authors) }
    let defaults = try defaults(sql.shape)
    // Equal whether a default was written down or not, and before and after a column came.
    // What stays on this device says nothing of the row to others, and the app may write it often.
    var others = Set(sql.shape.localColumns)
    // What else is in a row that is shown is no part of the entry.
    if kind == .veiled, let veil = try writer.veil(of: id.key) {
      others.formUnion(sql.shape.columns.map(\.name))
      others.subtract(veil.columns.map(\.name))
    }
    let written = content.filter { !others.contains($0.key) && $0.value != defaults[$0.key] }
    var entry = InboxEntry(
      id: InboxEntry.id(kind, sql.shape.name, id.key, HeldTable.bytes(of: written), rows),
      table: sql.shape.name,
      key: try id.key.withUnsafeBytes { try PackedKey.values($0) }, kind: kind,
      // Of one without its insert nothing more is known.
      values: kind == .incomplete ? content : defaults.merging(content) { $1 }, rows: rows,
      loser: latest.map(transaction.authors.stamp), winner: winner.map(transaction.authors.stamp),
      found: nil)
    entry.isRestorable = try isRestorable(id, content, kind, sql)
    return entry
  }

  /// Whether something is kept of all deleted parents without which the row would not be restored.
  private func isRestorable(
    _ row: RowID, _ content: [String: SQLiteValue], _ kind: InboxKind, _ sql: TableSQL
  ) throws -> Bool {
    guard kind == .orphaned || kind == .veiled else { return true }
    let parents = settlement.parents
    let deleted = try parents.references(of: row.key, content, sql.shape).filter(parents.isDeleted)
    // One that went with its own parent comes back with that.
    if kind == .veiled, deleted.isEmpty { return false }
    return try deleted.allSatisfy { reference in
      let isReleased = kind == .orphaned && sql.shape.isReleased(reference.foreignKey)
      return try isReleased
        || transaction.held.content(in: .kept, reference.parent.shape.id, reference.key) != nil
    }
  }

  private func defaults(_ shape: TableShape) throws -> [String: SQLiteValue] {
    if let known = defaults[shape.id] { return known }
    var values: [String: SQLiteValue] = [:]
    for column in shape.columns.map(\.name) + shape.localColumns {
      values[column] = try transaction.db.declaredDefault(of: column, in: shape.name)
    }
    defaults[shape.id] = values
    return values
  }

  /// The rows in the way of one, and the write by which they are.
  private func inTheWay(
    of row: RowID, _ content: [String: SQLiteValue], _ kind: InboxKind, _ writer: TableWriter
  ) throws -> (rows: [RowExplanation.Reference], winner: Stamp?) {
    let shape = writer.sql.shape
    let key = try row.key.withUnsafeBytes { try PackedKey.values($0) }
    let logged = try LoggedRow(shape, key: key)
    switch kind {
    case .displaced, .folded:
      let shown = try settlement.waitingRow(row, content, writer.sql).content
      let stamps = try writer.rivals(of: row.key, content: shown)
        .compactMap { try writer.state(of: $0)?.stamp }
      return (
        try logged.rivals(shown, writer.sql, in: transaction),
        stamps.min { transaction.authors.isLess($0, $1) }
      )
    case .orphaned, .parentMissing, .veiled:
      let deletes = try settlement.parents.references(of: row.key, content, shape).compactMap {
        reference in
        try settlement.parents.isDeleted(reference)
          ? settlement.writer(reference.parent).state(of: reference.key)?.deletion : nil
      }
      return (
        try logged.missingParents(content, in: transaction),
        deletes.max { transaction.authors.isLess($0, $1) }
      )
    default: return ([], nil)
    }
  }
}
