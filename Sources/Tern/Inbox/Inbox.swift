import Foundation
import GRDB
import TernCore
import TernDatabase

/// Reads the inbox: the values that lost, which are stored, the newest first; then the rows that
/// are kept out, by table and key, as they follow from the state.
///
/// Through GRDB, so that observations know what they look at. What only statements of Tern's read
/// is told to them with ``HeldTable``.
struct Inbox {
  let transaction: StoreTransaction
  private var db: Database { transaction.db }
  private var tables: StoreTables { transaction.tables }

  init(_ transaction: StoreTransaction) {
    self.transaction = transaction
  }

  /// Which entries are asked for.
  struct Request {
    var kinds: Set<InboxKind>?
    /// The last one of the page before.
    var after: InboxEntry?
    var limit: Int
    var withDismissed: Bool

    func wants(_ kind: InboxKind) -> Bool { kinds?.contains(kind) ?? true }
  }

  /// Entries of tables that do not sync any more are left out.
  func entries(_ request: Request) throws -> [InboxEntry] {
    let dismissed = try transaction.dismissed.ids()
    var found: [InboxEntry] = []
    func add(_ entry: InboxEntry) {
      var entry = entry
      entry.isDismissed = dismissed.contains(entry.id)
      if request.withDismissed || !entry.isDismissed { found.append(entry) }
    }
    if request.limit < 1 { return [] }
    if request.after.map({ $0.id > 0 }) ?? true {
      let rows = try losses(request)
      while found.count < request.limit, let row = try rows.next() {
        try loss(row).map(add)
      }
    }
    if let keptOut = try KeptOutRows(transaction, request) {
      while found.count < request.limit, let entry = try keptOut.next() { add(entry) }
    }
    return found
  }

  // MARK: - Values that lost

  private func losses(_ request: Request) throws -> RowCursor {
    let kinds = InboxKind.ofLosses.filter(request.wants).map { "'\($0.rawValue)'" }
    return try losses(
      "kind IN (\(kinds.joined(separator: ", "))) AND i.id < ?", request.after?.id ?? .max)
  }

  private func losses(_ condition: String, _ value: Int64) throws -> RowCursor {
    try Row.fetchCursor(
      db,
      sql: """
        SELECT i.*, l.id AS loser_id, w.id AS winner_id FROM \(tables.inbox) AS i
        JOIN \(tables.author) AS l ON l.idx = i.loser JOIN \(tables.author) AS w ON w.idx = i.winner
        WHERE \(condition) ORDER BY i.id DESC
        """, arguments: [value])
  }

  /// - Returns: `nil` for a table or columns that do not sync any more.
  private func loss(_ row: Row) throws -> InboxEntry? {
    let id: Int64 = row["tbl"]
    guard let shape = transaction.sql.first(where: { $0.shape.id == id })?.shape,
      let kind = InboxKind(rawValue: row["kind"])
    else { return nil }
    let key = try Array(row["key"] as Data).withUnsafeBytes { try PackedKey.values($0) }
    let content = try Array(row["content"] as Data).withUnsafeBytes {
      try HeldTable.readContent($0)
    }
    let values = shape.present(content)
    if values.isEmpty { return nil }
    return InboxEntry(
      id: row["id"], table: shape.name, key: key, kind: kind, values: values, rows: [],
      loser: try stamp(row, "loser"), winner: try stamp(row, "winner"),
      found: Date(timeIntervalSince1970: Double(row["found_ms"] as Int64) / 1000))
  }

  private func stamp(_ row: Row, _ name: String) throws -> WriteStamp {
    guard let author = ReplicaID(bytes: row["\(name)_id"] as Data) else {
      throw ReplicaError(.damaged, "table \(tables.author) holds an id that is none")
    }
    let time = HybridTime(rawValue: UInt64(bitPattern: row["\(name)_time"] as Int64))
    return WriteStamp(author: author, time: time, isOwn: row[name] == 0)
  }

  // MARK: - One entry

  /// The row of an entry that is as it was read, and was not dismissed.
  ///
  /// - Throws: ``InboxError``.
  func row(of entry: InboxEntry, for action: InboxEntry.Action) throws -> (sql: TableSQL, id: RowID)
  {
    guard let sql = transaction.sql.first(where: { $0.shape.name.folded == entry.table.folded })
    else {
      throw InboxError(.missingTable, "table “\(entry.table)” does not sync any more")
    }
    guard entry.kind.actions.contains(action) else {
      let others = entry.kind.actions.map(\.rawValue).sorted().joined(separator: ", ")
      throw InboxError(
        .wrongAction, "the entry is .\(entry.kind.rawValue), and what can be done is: \(others)")
    }
    let id = RowID(table: sql.shape.id, key: PackedKey.bytes(of: entry.key))
    let isDismissed = try transaction.dismissed.ids().contains(entry.id)
    guard try isThere(entry, id, for: action), isDismissed == entry.isDismissed else {
      throw InboxError(
        .missingEntry, "the inbox does not hold the entry any more; read it again")
    }
    return (sql, id)
  }

  private func isThere(_ entry: InboxEntry, _ row: RowID, for action: InboxEntry.Action) throws
    -> Bool
  {
    guard entry.id > 0 else {
      guard let current = try KeptOutRows.entry(of: row, in: transaction) else { return false }
      // Other rows may be in the way by now, which is for the action to find.
      return current.id == entry.id
        || action != .dismiss && current.kind == entry.kind && current.values == entry.values
    }
    // By all of it, since ids are given again.
    let rows = try losses("i.id = ?", entry.id)
    // The cursor's row goes with it.
    var current = try withExtendedLifetime(rows) { try rows.next().flatMap(loss) }
    current?.isDismissed = entry.isDismissed
    return current == entry
  }

  /// Takes the entry of a value that lost out.
  func remove(_ entry: InboxEntry) throws {
    try db.execute(sql: "DELETE FROM \(tables.inbox) WHERE id = ?", arguments: [entry.id])
    try transaction.dismissed.forgetGone()
  }
}
