import GRDB

extension Replica {
  /// A draft of what a record's `.text` column holds: ``draft(_:key:column:in:)`` by the record's
  /// key.
  ///
  /// ```swift
  /// let draft = try await database.read { db in
  ///   try replica.draft(note, column: Note.Columns.body, in: db)
  /// }
  /// ```
  ///
  /// - Throws: as that, and what the record throws as it is encoded.
  public func draft(
    _ record: some TableRecord & EncodableRecord, column: any ColumnExpression, in db: Database
  ) throws -> TextDraft? {
    let row = try store.sql.row(of: record)
    return try draft(row.table, key: row.key, column: column.name, in: db)
  }
}
