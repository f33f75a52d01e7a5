import GRDB
import TernCore
import TernDatabase

/// Something that is about one row of a synced table.
///
/// ```swift
/// for entry in try await replica.inbox() where entry.belongs(to: Book.self) {
///   print(entry.key(as: String.self) ?? "a book whose key is no string")
/// }
/// ```
public protocol RowReference {
  /// As the schema names it.
  var table: String { get }
  /// A value for each column of the primary key, in its order.
  var key: [SQLiteValue] { get }
}

extension RowReference {
  /// Whether the row is one of a record type's table.
  public func belongs<Record: TableRecord>(to type: Record.Type) -> Bool {
    table.folded == Record.databaseTableName.folded
  }

  /// The key as the type that a record keeps it in.
  ///
  /// - Returns: `nil` where it has several columns, or is no such value.
  public func key<Key: DatabaseValueConvertible>(as type: Key.Type) -> Key? {
    key.count == 1 ? Key.fromDatabaseValue(key[0].databaseValue) : nil
  }
}

extension InboxEntry: RowReference {}
extension RowExplanation: RowReference {}
extension UndoableRow: RowReference {}
extension UndoneOperation.Row: RowReference {}
