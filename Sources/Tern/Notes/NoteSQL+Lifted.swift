import TernCore

/// What the rows of a table were when its triggers were lifted for a migration. Where the process
/// dies before they are back, whatever differs from it was written by somebody else.
extension NoteSQL {
  var liftedTable: String { "\(prefix)lifted_\(shape.id)" }

  /// A function of one value, which is there while rows are copied or compared.
  static let digest = "grdb_tern_digest"

  /// The columns of ``liftedTable`` beside the key: those that travel, and local ones too where
  /// deletes keep the row.
  private var liftedColumns: ArraySlice<(name: String, column: String)> {
    shape.deletes.keepsContent ? goneColumns[...] : goneColumns.prefix(shape.columns.count)
  }

  /// What is kept of a value: of a long one the digest, unless a delete keeps the row.
  private func lifted(_ value: String) -> String {
    if shape.deletes.keepsContent { return value }
    return
      "CASE WHEN length(\(value)) > 32 THEN \(Self.digest)(CAST(\(value) AS BLOB)) || typeof(\(value)) "
      + "ELSE \(value) END"
  }

  /// Keeps what the rows are.
  var lift: [String] {
    let names = keyNames + liftedColumns.map(\.name)
    let values =
      shape.keyColumns.map { "t.\($0.quoted)" }
      + liftedColumns.map { lifted("t.\($0.column.quoted)") }
    return [
      "CREATE TABLE main.\(liftedTable) (\(names.joined(separator: ", ")))",
      "INSERT INTO main.\(liftedTable) SELECT \(values.joined(separator: ", ")) "
        + "FROM \(shape.qualifiedName) AS t",
    ]
  }

  /// Notes what was written since, as the triggers would have.
  var noteUnlifted: [String] {
    let keys = shape.keyColumns.map { "t.\($0.quoted)" }
    let isSame = zip(keys, keyNames).map { "\($0) = l.\($1) COLLATE BINARY" }
      .joined(separator: " AND ")
    // The sign has SQLite make an index of what was kept.
    let isKept = zip(keys, keyNames).map { "+\($0) = l.\($1) COLLATE BINARY" }
      .joined(separator: " AND ")
    let (table, lifted) = (shape.qualifiedName, "main.\(liftedTable)")
    let changes = shape.columns.map(differsFromLifted)
    let changed =
      changes.isEmpty
      ? []
      : [
        noteEach(
          masks: changedMasks(differsFromLifted), keys: keys,
          "FROM \(table) AS t JOIN \(lifted) AS l ON \(isKept) "
            + "WHERE \(changes.joined(separator: " OR "))")
      ]
    let gone =
      "FROM \(lifted) AS l WHERE NOT EXISTS (SELECT 1 FROM \(table) AS t WHERE \(isSame))"
    let names = keyNames + goneColumns.map(\.name)
    let kept =
      shape.deletes.keepsContent
      ? [
        "INSERT INTO \(goneTable) (\(names.joined(separator: ", "))) SELECT "
          + names.map { "l.\($0)" }.joined(separator: ", ") + " \(gone)"
      ] : []
    return kept + [
      noteEach(masks: noColumns(), keys: keyNames.map { "l.\($0)" }, gone),
      noteEach(
        masks: allColumns, keys: keys,
        "FROM \(table) AS t LEFT JOIN \(lifted) AS l ON \(isKept) WHERE l.rowid IS NULL"),
    ] + changed
  }

  private func differsFromLifted(_ column: TableShape.Column) -> String {
    differs(column, "l.c\(column.id)", lifted("t.\(column.name.quoted)"))
  }
}
