import TernCore

/// A CREATE TABLE statement that is taken over word by word, but for the columns that get another
/// type.
///
/// - Source: <https://www.sqlite.org/lang_createtable.html>
struct TableDeclaration {
  private let text: SQLText
  /// The tokens of each column's definition, in the table's order.
  private let columns: [Range<Int>]

  /// What becomes of a column.
  enum Role {
    /// It holds identifiers now.
    case reference
    /// It is the table's whole key, and holds identifiers now.
    case key
  }

  /// - Returns: `nil` for a text that does not declare this many columns.
  init?(_ sql: String, columnCount: Int) {
    text = SQLText(sql)
    guard let columns = text.columnDefinitions(columnCount) else { return nil }
    self.columns = columns
  }

  var columnNames: [String] { columns.map { text.tokens[$0.lowerBound].name } }

  /// The statement with some columns' definitions changed, and one added behind the last.
  ///
  /// - Parameter type: what columns with a role get as their type.
  func rewritten(type: String, added: String?, _ role: (String) -> Role?) -> String {
    var edits: [(range: Range<Int>, text: String)] = []
    let tokens = text.tokens
    for column in columns {
      guard let role = role(tokens[column.lowerBound].name) else { continue }
      edits += change(column, type, isKey: role == .key)
    }
    // Elsewhere this is no word that a name could be. With a number for a key goes its counting.
    if columnNames.contains(where: { role($0) == .key }) {
      edits += tokens.filter { $0.isWord("autoincrement") }.map { ($0.range, "") }
    }
    if let added, let last = columns.last {
      let end = tokens[last.upperBound - 1].range.upperBound
      edits.append((end..<end, ", \(added)"))
    }
    var bytes = text.bytes
    for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      bytes.replaceSubrange(edit.range, with: Array(edit.text.utf8))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func change(_ column: Range<Int>, _ type: String, isKey: Bool) -> [(Range<Int>, String)] {
    let tokens = text.tokens
    let name = column.lowerBound
    let end = tokens[(name + 1)..<column.upperBound].firstIndex {
      $0.depth == 1 && $0.kind == .word && Self.constraintWords.contains($0.text.folded)
    }
    let typed = (name + 1)..<(end ?? column.upperBound)
    var declared = type
    if isKey, !isNotNull(column) { declared += " NOT NULL" }
    let place = tokens[name].range.upperBound
    var edits: [(Range<Int>, String)] = [
      typed.isEmpty
        ? (place..<place, " \(declared)")
        : (
          tokens[typed.lowerBound].range.lowerBound..<tokens[typed.upperBound - 1].range.upperBound,
          declared
        )
    ]
    // Of a number's collation and default nobody ever saw anything; a text would have them.
    if isKey { edits += meaningless(column) }
    return edits
  }

  private func isNotNull(_ column: Range<Int>) -> Bool {
    column.dropLast().contains {
      text.tokens[$0].depth == 1 && text.tokens[$0].isWord("not")
        && text.tokens[$0 + 1].isWord("null")
    }
  }

  /// COLLATE and DEFAULT with what follows them.
  private func meaningless(_ column: Range<Int>) -> [(Range<Int>, String)] {
    let tokens = text.tokens
    return column.filter { tokens[$0].depth == 1 }.compactMap { index in
      guard tokens[index].isWord("collate") || tokens[index].isWord("default") else { return nil }
      var last = min(index + 1, column.upperBound - 1)
      if tokens[last].isSymbol("+") || tokens[last].isSymbol("-") { last += 1 }
      if tokens[last].isSymbol("(") {
        last =
          column.first { $0 > last && tokens[$0].isSymbol(")") && tokens[$0].depth == 1 } ?? last
      }
      let end = min(last, column.upperBound - 1)
      return (tokens[index].range.lowerBound..<tokens[end].range.upperBound, "")
    }
  }

  private static let constraintWords: Set<String> = [
    "constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references",
    "generated", "as",
  ]
}
