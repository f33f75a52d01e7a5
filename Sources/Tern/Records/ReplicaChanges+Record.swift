import GRDB
import TernCore
import TernDatabase

extension ReplicaChanges {
  /// The rows of a record type's table that changed, by whomever; `nil` for none.
  ///
  /// ```swift
  /// for await changes in replica.changes() {
  ///   if changes[Book.self]?.contains(isbn) == true { print("the book changed") }
  /// }
  /// ```
  public subscript<Record: TableRecord>(type: Record.Type) -> Rows? {
    self[Record.databaseTableName]
  }
}

extension ReplicaChanges.Rows {
  /// Whether the row with this key may have changed, in a table whose key is one column.
  public func contains(_ key: some DatabaseValueConvertible) -> Bool {
    guard case .keys(let keys) = self else { return true }
    let value = SQLiteValue.fromDatabaseValue(key.databaseValue) ?? .null
    // As a TEXT or an INTEGER column would store it.
    let forms = [value, Affinity.text.stored(value), Affinity.integer.stored(value)]
    return forms.contains { keys.contains([$0]) }
  }

  /// The keys as the type that a record keeps them in.
  ///
  /// - Returns: `nil` for ``all``, and where a key is no such value.
  public func keys<Key: DatabaseValueConvertible & Hashable>(as type: Key.Type) -> Set<Key>? {
    guard case .keys(let keys) = self else { return nil }
    let read = keys.compactMap {
      $0.count == 1 ? Key.fromDatabaseValue($0[0].databaseValue) : nil
    }
    return read.count == keys.count ? Set(read) : nil
  }
}
