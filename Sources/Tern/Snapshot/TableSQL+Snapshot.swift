import TernCore

extension TableSQL {
  private var keys: String { note.keyNames.joined(separator: ", ") }

  /// Every row of the state. Columns: the key, life, time, author, covered, cells, whether it is
  /// shown, and the values of the columns that travel.
  var readAllRows: String {
    let match = zip(shape.keyColumns, note.keyNames).map { "t.\($0.quoted) = r.\($1)" }
    let values = shape.columns.map { "t.\($0.name.quoted)" }
    let columns =
      note.keyNames.map { "r.\($0)" } + ["r.life", "r.time", "r.author", "r.covered", "r.cells"]
      + ["t.\(shape.keyColumns[0].quoted)"] + values
    return """
      SELECT \(columns.joined(separator: ", ")) FROM \(note.rowTable) AS r
      LEFT JOIN \(shape.qualifiedName) AS t ON \(match.joined(separator: " AND "))
      """
  }

  /// While a snapshot is loaded, the lives of states that were there before stand negated.
  var markStates: String { "UPDATE \(note.rowTable) SET life = -life" }
  var forgetMarked: String { "DELETE FROM \(note.rowTable) WHERE life < 0" }
  var anyState: String { "SELECT 1 FROM \(note.rowTable) LIMIT 1" }

  /// Columns as ``readState``, of a state that is marked.
  var readMarked: String {
    let match = note.keyNames.enumerated().map { "\($1) = ?\($0 + 1)" }
    return "SELECT -life, time, author, covered, cells FROM \(note.rowTable) "
      + "WHERE \(match.joined(separator: " AND ")) AND life < 0"
  }

  /// Up to 1,000 keys of marked states, behind the bound one if there is one bound.
  func markedKeys(isFirst: Bool) -> String {
    let parameters = note.keyNames.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let after = isFirst ? "" : "AND (\(keys)) > (\(parameters))"
    return
      "SELECT \(keys) FROM \(note.rowTable) WHERE life < 0 \(after) ORDER BY \(keys) LIMIT 1000"
  }
}
