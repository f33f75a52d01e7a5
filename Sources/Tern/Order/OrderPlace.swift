import TernCore

/// A place in a list of rows.
public enum OrderPlace: Hashable, Sendable {
  case first
  case last
  /// Right behind the row with this key: a value for each column of the primary key.
  case after([Value])
  /// Right before the row with this key.
  case before([Value])
}
