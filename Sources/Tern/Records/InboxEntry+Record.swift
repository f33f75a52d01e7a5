import GRDB
import TernCore
import TernDatabase

extension InboxEntry {
  /// What the entry's write had in a column; `nil` where it did not write that.
  public subscript(column: some ColumnExpression) -> SQLiteValue? {
    values.first { $0.key.folded == column.name.folded }?.value
  }

  /// The record as ``Replica/restore(_:)`` would leave it: what its table shows now, with the
  /// values that lost. Show it beside the one that stands.
  ///
  /// ```swift
  /// for entry in try await replica.inbox() where entry.belongs(to: Book.self) {
  ///   let lost = try await database.read { try entry.record(Book.self, in: $0) }
  ///   print("\(lost.title) lost against what stands")
  /// }
  /// ```
  ///
  /// - Throws: what the record throws where a column that it needs is neither in the table nor in
  ///   the entry, and `DatabaseError`.
  public func record<Record: TableRecord & FetchableRecord>(
    _ type: Record.Type, in db: Database
  ) throws -> Record {
    let columns = try db.primaryKey(table).columns
    let match = columns.map { "\($0.quoted) = ?" }.joined(separator: " AND ")
    let row = try Row.fetchOne(
      db, sql: "SELECT * FROM main.\(table.quoted) WHERE \(match)",
      arguments: StatementArguments(key))
    var shown: [String: (any DatabaseValueConvertible)?] = [:]
    for (column, value) in zip(columns, key) { shown[column] = value }
    for (column, value) in row ?? Row() { shown[column] = value }
    let names = Dictionary(shown.keys.map { ($0.folded, $0) }) { name, _ in name }
    for (column, value) in values { shown[names[column.folded] ?? column] = value }
    return try Record(row: Row(shown))
  }
}

extension Replica {
  /// Writes what an entry lost into a record's row: ``restore(_:into:)`` by the record's key.
  ///
  /// - Throws: as that, ``RowLookupError`` where the record's table does not sync, and what the
  ///   record throws as it is encoded.
  public func restore(_ entry: InboxEntry, into record: some TableRecord & EncodableRecord)
    async throws
  {
    let row = try store.sql.row(of: record)
    guard entry.table.folded == row.table.folded else {
      throw InboxError(
        .missingRow, "the entry is of the table “\(entry.table)”, and the record of “\(row.table)”")
    }
    try await restore(entry, into: row.key)
  }

  /// Shows the row of an entry, with other values in some of its columns, inside the caller's
  /// transaction: those columns alone are a write of this device.
  ///
  /// ```swift
  /// try await replica.write { db in
  ///   for entry in try replica.inbox(of: [.displaced], in: db) where entry.belongs(to: Tag.self) {
  ///     try replica.show(entry, with: [Tag.Columns.name: "Meals (mine)"], in: db)
  ///   }
  /// }
  /// ```
  ///
  /// What was written before, in this transaction or an earlier one, is sealed first. What waits
  /// for the row is shown by the next seal, which ``write(_:)`` ends with.
  ///
  /// - Parameter values: by column, also by `Column("name")`. A row that nothing is in the way of
  ///   any more needs none.
  /// - Throws: ``InboxError`` for an entry that is gone or cannot be shown, and where the row
  ///   collides with these values too, or what it refers to is not there; `DatabaseError`. Nothing
  ///   of it is written then, also where the transaction goes on.
  public func show(
    _ entry: InboxEntry,
    with values: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?> = [:],
    in db: Database
  ) throws {
    try store.writeInbox(in: db) { try $0.show(entry, with: named(values)) }
    db.afterNextTransaction { [localWrites] _ in localWrites.tell() }
  }
}
