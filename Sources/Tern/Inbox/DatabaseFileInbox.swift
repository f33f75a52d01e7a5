import GRDB
import TernCore
import TernDatabase

/// The inbox of a replica in a database file, without the app and its schema. The file may be in
/// use.
package struct DatabaseFileInbox {
  private let path: String
  private let replica: String

  /// - Parameter replica: its name.
  package init(path: String, replica: String) {
    (self.path, self.replica) = (path, replica)
  }

  /// What names an entry for ``restore(_:)``. Ids are given again, and this is not.
  package struct Reference: Hashable, Sendable {
    package let text: String

    package init(text: String) { self.text = text }

    package init(_ entry: InboxEntry) {
      let found = entry.found?.timeIntervalSince1970 ?? 0
      let times = [entry.loser, entry.winner].map { "\($0?.time.rawValue ?? 0)" }
      text = "\(entry.id).\(found).\(times.joined(separator: "."))"
    }
  }

  /// An entry, and what its row shows now; `nil` where the table has no such row.
  package struct Item: Sendable {
    package let entry: InboxEntry
    package let shown: [String: SQLiteValue]?
  }

  /// As ``Replica/inbox(of:after:limit:withDismissed:)`` gives them. Blocks: not on the main actor.
  ///
  /// - Throws: ``InspectionError``.
  package func items(limit: Int) throws -> [Item] {
    try ReadOnlyFile(path: path).read { db in
      let transaction = try transaction(db)
      return try entries(limit: limit, in: transaction).map {
        Item(entry: $0, shown: try shown($0, in: transaction))
      }
    }
  }

  private func shown(_ entry: InboxEntry, in transaction: StoreTransaction) throws
    -> [String: SQLiteValue]?
  {
    let name = entry.table.folded
    guard let sql = transaction.sql.first(where: { $0.shape.name.folded == name }) else {
      return nil
    }
    return try TableWriter(transaction, sql, hasHeld: true).read(PackedKey.bytes(of: entry.key))
  }

  /// Whether ``restore(_:)`` takes an entry: what it writes is one row, as the app's own statement
  /// would. The rows that are kept out need the app's schema.
  package static func canRestore(_ entry: InboxEntry) -> Bool {
    InboxKind.ofLosses.contains(entry.kind) && entry.actions.contains(.restore)
  }

  /// Writes what an entry lost into its row, as any process may write to the app's tables: the
  /// triggers note it, and the app's next seal makes an operation of it. In one transaction, with
  /// the entry taken out. Blocks: not on the main actor.
  ///
  /// - Throws: ``InboxError``, ``InspectionError``, and `DatabaseError` for what the table refuses:
  ///   the entry then stays.
  package func restore(_ reference: Reference) throws {
    try GuestFile(path: path).write { db in
      let transaction = try transaction(db)
      guard transaction.tables.format == StoreTables.format else {
        throw InboxError(
          .refused, "an older Tern made the replica; open it once with the app of today")
      }
      guard try !transaction.tables.areTriggersLifted(db) else {
        throw InboxError(.refused, "the app's migration runs or was cut off; open it with the app")
      }
      let entries = try entries(limit: .max, in: transaction)
      guard let entry = entries.first(where: { Reference($0) == reference }) else {
        throw InboxError(.missingEntry, "the inbox does not hold the entry any more")
      }
      guard Self.canRestore(entry) else {
        throw InboxError(
          .wrongAction, "only the app can restore a row that is kept out of its table")
      }
      try InboxWriter(transaction).restore(entry, into: nil)
    }
  }

  private func entries(limit: Int, in transaction: StoreTransaction) throws -> [InboxEntry] {
    try Inbox(transaction).entries(
      Inbox.Request(kinds: nil, after: nil, limit: limit, withDismissed: false))
  }

  private func transaction(_ db: Database) throws -> StoreTransaction {
    let tables = try StoreTables.stored(name: replica, in: db)
    try ViewForTable.refuse(in: db, prefix: tables.prefix, path: path)
    guard try db.tableExists(tables.replica, in: "main") else {
      throw InspectionError(.noReplica, path: path)
    }
    guard tables.format <= StoreTables.format else {
      throw InspectionError(.newerFormat, path: path)
    }
    return try StoreTransaction(
      db, tables: tables, sql: try InstalledTable.statements(db, tables))
  }
}
