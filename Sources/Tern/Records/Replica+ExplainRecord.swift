import GRDB
import TernCore

extension Replica {
  /// Why a record's row is as it is: ``explain(_:key:limit:)`` by the record's key.
  ///
  /// ```swift
  /// print(try await replica.explain(book))
  /// ```
  ///
  /// - Throws: as that, and what the record throws as it is encoded.
  public func explain(_ record: some TableRecord & EncodableRecord, limit: Int = 100) async throws
    -> RowExplanation
  {
    let row = try store.sql.row(of: record)
    return try await explain(row.table, key: row.key, limit: limit)
  }

  /// ``explain(_:key:limit:)`` for a record type's table whose key is one column.
  ///
  /// ```swift
  /// print(try await replica.explain(Book.self, key: isbn))
  /// ```
  public func explain<Record: TableRecord>(
    _ type: Record.Type, key: some DatabaseValueConvertible, limit: Int = 100
  ) async throws -> RowExplanation {
    let row = try store.sql.row(of: type, RowKey(key))
    return try await explain(row.table, key: row.key, limit: limit)
  }

  /// The changes of a record's row: ``history(_:key:after:limit:)`` by the record's key.
  ///
  /// ```swift
  /// for change in try await replica.history(book).changes { print(change) }
  /// ```
  ///
  /// - Throws: as that, and what the record throws as it is encoded.
  public func history(
    _ record: some TableRecord & EncodableRecord, after position: RowHistory.Position? = nil,
    limit: Int = 100
  ) async throws -> RowHistory {
    let row = try store.sql.row(of: record)
    return try await history(row.table, key: row.key, after: position, limit: limit)
  }

  /// ``history(_:key:after:limit:)`` for a record type's table whose key is one column.
  public func history<Record: TableRecord>(
    _ type: Record.Type, key: some DatabaseValueConvertible,
    after position: RowHistory.Position? = nil, limit: Int = 100
  ) async throws -> RowHistory {
    let row = try store.sql.row(of: type, RowKey(key))
    return try await history(row.table, key: row.key, after: position, limit: limit)
  }
}

extension [TableSQL] {
  /// - Throws: ``RowLookupError``, and what the record throws as it is encoded.
  func row<Record: TableRecord & EncodableRecord>(of record: Record) throws
    -> (table: String, key: [SQLiteValue])
  {
    try row(of: Record.self, RowKey(record))
  }

  /// - Throws: ``RowLookupError`` for a table that does not sync, or a key without one of its
  ///   columns.
  func row<Record: TableRecord>(of type: Record.Type, _ key: RowKey) throws
    -> (table: String, key: [SQLiteValue])
  {
    let shape = try table(Record.databaseTableName).shape
    return (shape.name, try key.values(in: shape))
  }
}
