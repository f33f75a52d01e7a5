import TernCore

/// What one INSERT of a trigger says of the columns that it fills. It has no alias and no DEFAULT
/// VALUES, which SQLite takes outside of triggers alone.
///
/// - Source: <https://www.sqlite.org/lang_createtrigger.html>
struct TriggerInsert: Sendable {
  let target: String
  /// As they are named; `nil` where it goes by the order of the table's columns.
  let columns: [String]?
  /// The places at which a row gives the word NULL.
  let nulls: Set<Int>

  /// - Parameters:
  ///   - tokens: from the target on.
  init(_ tokens: ArraySlice<SQLText.Token>) {
    target = tokens[tokens.startIndex].name
    var rest = tokens.dropFirst()
    if rest.first?.isSymbol("(") ?? false {
      let end = rest.firstIndex { $0.isSymbol(")") } ?? rest.endIndex
      columns = rest[..<end].filter { $0.kind != .symbol }.map(\.name)
      rest = rest[end...].dropFirst()
    } else {
      columns = nil
    }
    var nulls: Set<Int> = []
    if rest.first?.isWord("values") ?? false {
      let depth = rest[rest.startIndex].depth
      for open in rest.indices where rest[open].isSymbol("(") && rest[open].depth == depth {
        nulls.formUnion(Self.nulls(rest[(open + 1)...], depth: depth + 1))
      }
    } else if rest.first?.isWord("select") ?? false {
      nulls = Self.nulls(rest.dropFirst(), depth: rest[rest.startIndex].depth)
    }
    self.nulls = nulls
  }

  /// The places in one list of values, up to where that ends.
  private static func nulls(_ tokens: ArraySlice<SQLText.Token>, depth: Int) -> Set<Int> {
    let list = tokens.prefix {
      $0.depth >= depth && !($0.depth == depth && $0.isWord("from"))
    }
    let values = list.split(omittingEmptySubsequences: false) {
      $0.isSymbol(",") && $0.depth == depth
    }
    return Set(
      values.indices.filter { values[$0].count == 1 && values[$0].first!.isWord("null") })
  }

  /// Whether it leaves a column to the table.
  ///
  /// - Parameter place: of the column among those that are filled in the table's own order; `nil`
  ///   where it is not one of them.
  func leavesOut(_ column: String, at place: Int?) -> Bool {
    guard let columns else { return place.map(nulls.contains) ?? true }
    return columns.firstIndex { $0.folded == column.folded }.map(nulls.contains) ?? true
  }
}
