import GRDB
import TernCore
import TernDatabase

extension Replica {
  /// Moves a record's row to a place in its list, inside the caller's transaction:
  /// ``move(_:key:to:scope:column:in:)`` by the record's key.
  ///
  /// ```swift
  /// try await database.write { db in
  ///   try replica.move(task, to: .after(other), scope: [Task.Columns.list: task.list], in: db)
  /// }
  /// ```
  ///
  /// - Throws: as that, and what the record throws as it is encoded.
  @discardableResult
  public func move(
    _ record: some TableRecord & EncodableRecord, to place: OrderPlace,
    scope: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?> = [:],
    column: (any ColumnExpression)? = nil, in db: Database
  ) throws -> OrderKey {
    let row = try store.sql.row(of: record)
    return try move(
      row.table, key: row.key, to: place, scope: named(scope), column: column?.name, in: db)
  }

  /// A key for a record that is about to be inserted at a place, inside the caller's transaction:
  /// ``orderKey(_:at:scope:column:in:)`` of the record type's table.
  ///
  /// ```swift
  /// try await database.write { db in
  ///   let position = try replica.orderKey(Task.self, at: .last, in: db)
  ///   try Task(id: "t8", title: "Sail", position: position.text).insert(db)
  /// }
  /// ```
  public func orderKey<Record: TableRecord>(
    _ type: Record.Type, at place: OrderPlace,
    scope: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?> = [:],
    column: (any ColumnExpression)? = nil, in db: Database
  ) throws -> OrderKey {
    try orderKey(
      Record.databaseTableName, at: place, scope: named(scope), column: column?.name, in: db)
  }
}

/// Values by the names of their columns.
func named(_ pairs: KeyValuePairs<any ColumnExpression, (any DatabaseValueConvertible)?>)
  -> [String: SQLiteValue]
{
  var values: [String: SQLiteValue] = [:]
  for (column, value) in pairs {
    values[column.name] = SQLiteValue.fromDatabaseValue(value?.databaseValue ?? .null)
  }
  return values
}
