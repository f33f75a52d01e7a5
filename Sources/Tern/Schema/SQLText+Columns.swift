import TernCore

extension SQLText {
  /// The tokens of each column's definition in a CREATE TABLE, in the table's order; `nil` for a
  /// text that does not declare this many.
  func columnDefinitions(_ count: Int) -> [Range<Int>]? {
    guard let open = tokens.firstIndex(where: { $0.isSymbol("(") && $0.depth == 0 }),
      let close = tokens[open...].firstIndex(where: { $0.isSymbol(")") && $0.depth == 0 })
    else { return nil }
    var columns: [Range<Int>] = []
    var start = open + 1
    while columns.count < count, start < close {
      let end = tokens[start..<close].firstIndex { $0.isSymbol(",") && $0.depth == 1 } ?? close
      columns.append(start..<end)
      start = end + 1
    }
    return columns.count == count && columns.allSatisfy { !$0.isEmpty } ? columns : nil
  }

  /// The tokens of what a generated column is made of; `nil` for an ordinary one.
  ///
  /// - Parameter definition: one of ``columnDefinitions(_:)``.
  func generatedExpression(_ definition: Range<Int>) -> Range<Int>? {
    // Neither a type nor a name without quotes can be this word.
    let word = definition.dropFirst().first { tokens[$0].depth == 1 && tokens[$0].isWord("as") }
    guard let word, word + 1 < definition.upperBound, tokens[word + 1].isSymbol("("),
      let end = tokens[(word + 2)..<definition.upperBound]
        .firstIndex(where: { $0.isSymbol(")") && $0.depth == 1 })
    else { return nil }
    return (word + 2)..<end
  }

  /// The tokens of each term of a CREATE INDEX, and those of its WHERE.
  func indexParts() -> (terms: [Range<Int>], condition: Range<Int>?)? {
    // As it is stored: CREATE UNIQUE INDEX name ON table (…).
    guard tokens.count > 6, tokens[4].isWord("on"), tokens[6].isSymbol("("),
      let close = tokens[7...].firstIndex(where: { $0.isSymbol(")") && $0.depth == 0 })
    else { return nil }
    var terms: [Range<Int>] = []
    var start = 7
    for end in tokens[7...close].indices
    where end == close || tokens[end].isSymbol(",") && tokens[end].depth == 1 {
      terms.append(start..<end)
      start = end + 1
    }
    if close + 1 == tokens.count { return (terms, nil) }
    guard tokens[close + 1].isWord("where") else { return nil }
    return (terms, (close + 2)..<tokens.count)
  }
}

extension SQLText {
  /// The column that has to be NULL for a row to be in the index, where its WHERE begins with that,
  /// in parentheses or not: GRDB puts each part of an AND into them.
  func indexPointer() -> String? {
    guard var range = indexParts()?.condition else { return nil }
    while let first = range.first {
      let outer = range.filter { tokens[$0].depth == tokens[first].depth }
      if tokens[first].isSymbol("("), outer.count == 2, outer[1] == range.last {
        range = range.dropFirst().dropLast()
        continue
      }
      // AND binds closer.
      if outer.contains(where: { tokens[$0].isWord("or") }) { return nil }
      guard let end = outer.first(where: { tokens[$0].isWord("and") }) else { break }
      range = range.lowerBound..<end
    }
    let words = tokens[range]
    guard words.count == 3, let name = words.first, name.kind != .symbol,
      words[range.lowerBound + 1].isWord("is"), words[range.lowerBound + 2].isWord("null")
    else { return nil }
    return name.name
  }
}
