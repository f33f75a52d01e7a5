import TernCore

/// An expression of a UNIQUE index, its WHERE or a generated column, as the database has it.
package struct IndexExpression: Hashable, Sendable {
  /// Its own text: SQLite uses an index only for the expression that it was made with.
  let sql: String
  /// The columns that it names, generated ones too, as often as it does.
  let names: [String]
  /// What stands before, between and behind these.
  private let pieces: [String]

  init(column: String) {
    (sql, names, pieces) = (column.quoted, [column], ["", ""])
  }

  /// - Parameter columns: where it names which, in that order.
  init(_ bytes: ArraySlice<UInt8>, columns: [(range: Range<Int>, name: String)]) {
    sql = String(decoding: bytes, as: UTF8.self)
    names = columns.map(\.name)
    var pieces: [String] = []
    var place = bytes.startIndex
    for column in columns {
      pieces.append(String(decoding: bytes[place..<column.range.lowerBound], as: UTF8.self))
      place = column.range.upperBound
    }
    self.pieces = pieces + [String(decoding: bytes[place...], as: UTF8.self)]
  }

  /// The same of a row that has a name of its own.
  func of(_ row: String) -> String {
    zip(pieces, names).map { $0 + "\(row).\($1.quoted)" }.joined() + pieces[pieces.count - 1]
  }
}

/// What an expression can be, as far as SQLite's conversions depend on it.
///
/// - Source: <https://www.sqlite.org/datatype3.html#comparison_expressions>
struct ExpressionValue {
  struct Kinds: OptionSet {
    let rawValue: Int
    static let integer = Kinds(rawValue: 1)
    /// Two builds of SQLite may write the same one differently.
    static let real = Kinds(rawValue: 2)
    /// A text, which a column for numbers would make a number of.
    static let digits = Kinds(rawValue: 4)
    static let text = Kinds(rawValue: 8)
    static let blob = Kinds(rawValue: 16)
    static let anyText: Kinds = [.digits, .text]
  }

  var kinds: Kinds
  /// Of a column; expressions have none.
  var affinity: Affinity?
  var column: String?

  static let truth = ExpressionValue(kinds: .integer)

  init(kinds: Kinds, affinity: Affinity? = nil, column: String? = nil) {
    (self.kinds, self.affinity, self.column) = (kinds, affinity, column)
  }

  init(column: String, _ affinity: Affinity) {
    let kinds: Kinds =
      switch affinity {
      case .text: [.anyText, .blob]
      case .integer: [.integer, .text, .blob]
      case .real, .numeric: [.integer, .real, .text, .blob]
      case .blob: [.integer, .anyText, .blob]
      }
    self.init(kinds: kinds, affinity: affinity, column: column)
  }

  /// The same without the column's type, as in the list of an IN.
  var untyped: ExpressionValue { ExpressionValue(kinds: kinds, column: column) }

  /// Whether SQLite may convert one of two values before it compares them. It does so for a column
  /// of a table, and not for one of NEW in a trigger.
  func isConverted(with other: ExpressionValue) -> Bool {
    let isAny = { (kinds: Kinds) in !self.kinds.union(other.kinds).isDisjoint(with: kinds) }
    switch (affinity, other.affinity) {
    case (nil, nil): return false
    case (let left?, let right?): return (left.isNumber || right.isNumber) && isAny(.digits)
    case (let affinity?, nil), (nil, let affinity?):
      if affinity.isNumber { return isAny(.digits) }
      return affinity == .text && isAny([.integer, .real])
    }
  }
}

extension Affinity {
  fileprivate var isNumber: Bool { self == .integer || self == .real || self == .numeric }
}

/// What of an expression devices could see differently, and what to do about it.
struct UnsupportedExpression: Error {
  var column: String?
  let what: String
  let wayOut: String

  init(_ what: String, column: String? = nil, _ wayOut: String) {
    (self.what, self.column, self.wayOut) = (what, column, wayOut)
  }
}
