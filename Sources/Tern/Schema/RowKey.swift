import GRDB
import TernCore
import TernDatabase

/// A row's key as an app gives it. Its table says in which order the columns stand.
package struct RowKey: Hashable, Sendable {
  private enum Form: Hashable {
    /// A value for each column of the key, in its order.
    case ordered([SQLiteValue])
    /// By folded name; other columns may stand beside the key's.
    case named([String: SQLiteValue])
  }
  private let form: Form

  package init(_ values: [SQLiteValue]) { form = .ordered(values) }

  package init(_ value: some DatabaseValueConvertible) {
    form = .ordered([SQLiteValue(value.databaseValue)])
  }

  package init(_ record: some EncodableRecord) throws {
    let values = try record.databaseDictionary.map { ($0.key.folded, SQLiteValue($0.value)) }
    form = .named(Dictionary(values, uniquingKeysWith: { left, _ in left }))
  }

  /// In the key's order, as the table stores them.
  ///
  /// - Throws: ``RowLookupError`` where a column of the key is missing.
  package func values(in shape: TableShape) throws(RowLookupError) -> [SQLiteValue] {
    var values: [SQLiteValue]
    switch form {
    case .ordered(let ordered): values = ordered
    case .named(let named):
      values = []
      for column in shape.keyColumns {
        guard let value = named[column.folded] else {
          throw RowLookupError(
            .wrongKey, table: shape.name,
            "its key has the column “\(column)”, which the record does not encode; it needs "
              + shape.keyColumns.joined(separator: ", "))
        }
        values.append(value)
      }
    }
    // One of another width is refused with its row.
    guard values.count == shape.keyAffinities.count else { return values }
    return zip(shape.keyAffinities, values).map { $0.stored($1) }
  }
}

extension SQLiteValue {
  /// Every value of SQLite's is one.
  fileprivate init(_ value: DatabaseValue) { self = SQLiteValue.fromDatabaseValue(value) ?? .null }
}

extension Affinity {
  /// What a column holds of a key that SQL compares with it: a number is text in a TEXT column,
  /// and text that is a whole number is that number in an INTEGER one.
  func stored(_ value: SQLiteValue) -> SQLiteValue {
    switch (self, value) {
    case (.text, .integer(let number)): .string("\(number)")
    case (.integer, .text), (.numeric, .text):
      value.string.flatMap(Int64.init).map(SQLiteValue.integer) ?? value
    case (.real, .integer(let number)): .real(Double(number))
    default: value
    }
  }
}
