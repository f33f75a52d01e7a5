import GRDB
import TernCore

/// A place in a list of rows.
///
/// ```swift
/// let place: OrderPlace = .after("t2")
/// ```
public struct OrderPlace: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    case first, last
    case after(RowKey)
    case before(RowKey)
  }
  package let kind: Kind

  public static let first = OrderPlace(kind: .first)
  public static let last = OrderPlace(kind: .last)

  /// Right behind the row with this key: a value for each column of the primary key.
  public static func after(_ key: [SQLiteValue]) -> OrderPlace {
    OrderPlace(kind: .after(RowKey(key)))
  }

  /// Right before the row with this key: a value for each column of the primary key.
  public static func before(_ key: [SQLiteValue]) -> OrderPlace {
    OrderPlace(kind: .before(RowKey(key)))
  }

  /// Right behind the row whose key is this one value.
  public static func after(_ key: some DatabaseValueConvertible) -> OrderPlace {
    OrderPlace(kind: .after(RowKey(key)))
  }

  /// Right before the row whose key is this one value.
  public static func before(_ key: some DatabaseValueConvertible) -> OrderPlace {
    OrderPlace(kind: .before(RowKey(key)))
  }

  /// Right behind a record's row.
  ///
  /// - Throws: what the record throws as it is encoded.
  public static func after(_ record: some TableRecord & EncodableRecord) throws -> OrderPlace {
    OrderPlace(kind: .after(try RowKey(record)))
  }

  /// Right before a record's row.
  ///
  /// - Throws: what the record throws as it is encoded.
  public static func before(_ record: some TableRecord & EncodableRecord) throws -> OrderPlace {
    OrderPlace(kind: .before(try RowKey(record)))
  }
}
