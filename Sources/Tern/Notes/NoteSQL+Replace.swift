/// What notes the rows that a REPLACE removes through a UNIQUE index beside the key.
///
/// SQLite fires no delete trigger for them, unless `recursive_triggers` is on; a BEFORE trigger
/// still sees them. Whether the statement replaces, fails, ignores or updates instead is not known
/// yet. A note of a row that stays says nothing: a seal looks at what is there.
///
/// - Source: <https://www.sqlite.org/lang_conflict.html>
extension NoteSQL {
  var replaceTriggers: [(name: String, sql: String)] {
    if shape.uniques.isEmpty { return [] }
    let deciding = Set(shape.uniques.flatMap(deciding)).sorted()
    return [
      trigger("replace", "BEFORE INSERT", shape.uniques.flatMap { noteRivals($0, of: "NEW") }),
      trigger(
        "replace_update", "BEFORE UPDATE OF \(names(deciding))",
        shape.uniques.flatMap { noteRivals($0, of: "OLD") }),
    ]
  }

  /// The columns by whose change a row can come to collide.
  private func deciding(_ unique: TableShape.Unique) -> [String] {
    let names = unique.columns.map(\.name)
    guard Planted.isActive(.replaceBlind), let condition = unique.computed?.condition else {
      return names
    }
    let hidden = Set(condition.names.map(\.folded))
      .subtracting(unique.computed!.terms.flatMap(\.expression.names).map(\.folded))
    let seen = names.filter { !hidden.contains($0.folded) }
    return seen.isEmpty ? names : seen
  }

  /// Notes the rows that hold what the new row is about to hold.
  ///
  /// - Parameter row: whose key is not meant.
  private func noteRivals(_ unique: TableShape.Unique, of row: String) -> [String] {
    guard let computed = unique.computed else {
      let matches = unique.columns.map {
        "r.\($0.name.quoted) = \(written($0)) COLLATE \($0.collation.quoted)"
      }
      return noteRows(where: matches, besides: row)
    }
    let condition = computed.condition.map { ["(\($0.of("r")))"] } ?? []
    // A column of NEW has the type of the value, and not the column's own. Nothing is compared
    // here that SQLite would convert (Docs/Design/0054).
    let matches =
      (computed.condition.map { ["(\($0.of("NEW")))"] } ?? []) + computed.matches("r", "NEW")
    // SQLite fills a generated column of NEW from the columns that the trigger names itself. The
    // others are NULL then.
    let inputs = unique.columns.map { "NEW.\($0.name.quoted)" }.joined(separator: ", ")
    let named = computed.generated.isEmpty ? [] : ["coalesce(\(inputs), 1) IS NOT NULL"]
    // For NULL, where a column refuses that, a REPLACE writes its default, from which all of this
    // is computed anew, after the trigger. Then any row may be the rival.
    let defaulted = unique.columns.filter { $0.isNotNull && $0.defaultValue != "NULL" }
      .map { "NEW.\($0.name.quoted) IS NULL" }
    return noteRows(where: named + matches, besides: row)
      + (defaulted.isEmpty
        ? []
        : noteRows(where: ["(\(defaulted.joined(separator: " OR ")))"] + condition, besides: row))
  }

  /// Notes rows `r`.
  private func noteRows(where matches: [String], besides row: String) -> [String] {
    let others = shape.keyColumns.map { "r.\($0.quoted) IS NOT \(row).\($0.quoted)" }
    let rivals =
      "FROM \(shape.name.quoted) AS r WHERE \(matches.joined(separator: " AND ")) "
      + "AND (\(others.joined(separator: " OR ")))"
    let keys = shape.keyColumns.map { "r.\($0.quoted)" }
    let masks = noColumns(shape.deletes.keepsContent ? .maybe : nil)
    let note = noteEach(masks: masks, keys: keys, rivals)
    guard shape.deletes.keepsContent else { return [note] }
    let names = keyNames + goneColumns.map(\.name) + ["maybe"]
    let values = keys + goneColumns.map { "r.\($0.column.quoted)" } + ["1"]
    return [
      note,
      "DELETE FROM \(goneTable) WHERE maybe AND (\(keyNames.joined(separator: ", "))) IN ("
        + "SELECT \(keys.joined(separator: ", ")) \(rivals))",
      "INSERT INTO \(goneTable) (\(names.joined(separator: ", "))) "
        + "SELECT \(values.joined(separator: ", ")) \(rivals)",
    ]
  }

  /// What a REPLACE writes: for NULL, where the column refuses that, its default, which comes after
  /// the trigger.
  private func written(_ column: TableShape.IndexedColumn) -> String {
    let new = "NEW.\(column.name.quoted)"
    guard column.isNotNull, let literal = column.literalDefault else { return new }
    return "ifnull(\(new), \(literal))"
  }

  /// A row that goes for certain held what it holds now, and not what a REPLACE met before.
  var forgetMaybeGone: [String] {
    if shape.uniques.isEmpty { return [] }
    let match = zip(keyNames, shape.keyColumns).map { "\($0) = OLD.\($1.quoted)" }
    return [
      "DELETE FROM \(goneTable) WHERE maybe AND \(match.joined(separator: " AND "))"
    ]
  }
}

extension TableShape.IndexedColumn {
  /// SQL of its default where that is a number, a text or a blob, and means the same everywhere.
  fileprivate var literalDefault: String? {
    guard let first = defaultValue.first else { return nil }
    // SQLite takes a name in double quotes that is none for a text, but here it could be one.
    if first == "\"", defaultValue.count > 1, defaultValue.last == "\"" {
      let text = defaultValue.dropFirst().dropLast().replacing("\"\"", with: "\"")
      return "'" + text.replacing("'", with: "''") + "'"
    }
    let isNumber = "+-.0123456789".contains(first)
    let isQuoted = first == "'" || ["x'", "X'"].contains(defaultValue.prefix(2))
    return isNumber || isQuoted ? "(\(defaultValue))" : nil
  }
}
