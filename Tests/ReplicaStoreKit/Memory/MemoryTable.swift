import Tern

/// The columns of a table in a ``MemoryReplicaStore``: what SQLite would read from the database.
package struct MemoryTable: Hashable, Sendable {
  package var name: String
  package var keyColumns: [String]
  /// Columns beside the key, in order. Counters stand at 0 until written, texts at the
  /// empty text, sets at `[]`, the others at NULL.
  package var columns: [String]
  /// Columns that are unique together, as by an index beside the key: values are compared by type
  /// and bytes, but for whole numbers, and NULL never collides.
  package var uniques: [[String]]

  package init(_ name: String, key: [String], columns: [String], uniques: [[String]] = []) {
    self.name = name
    keyColumns = key
    self.columns = columns
    self.uniques = uniques
  }

  /// - Throws: ``SchemaError`` when the schema names what is not here.
  func shape(_ declared: SyncTable) throws -> MemoryShape {
    let known = Set(columns.map(\.folded))
    for column in Array(declared.merge.keys) + declared.local where !known.contains(column.folded) {
      throw SchemaError(
        .unknownColumn, table: name, column: column, "the table has no such column; add it")
    }
    let local = Set(declared.local.map(\.folded))
    let rules = Dictionary(uniqueKeysWithValues: declared.merge.map { ($0.key.folded, $0.value) })
    var shape = MemoryShape(
      name: name, deletes: declared.deletes, keyColumns: keyColumns,
      columns: columns.filter { !local.contains($0.folded) }.map {
        MemoryShape.Column(name: $0, rule: rules[$0.folded] ?? .lastWriter)
      })
    shape.uniques = try uniques.map { unique in
      try unique.map { name in
        let column = shape.columns.firstIndex { $0.name.folded == name.folded }
        guard let column, shape.columns[column].rule == .lastWriter else {
          throw SchemaError(
            .uniqueBesideKey, table: self.name, column: name,
            "only columns that travel and merge by .lastWriter can be unique")
        }
        return column
      }
    }
    return shape
  }
}

/// A table with the rules of its columns; a column's place is its id in the state.
struct MemoryShape: Hashable, Sendable {
  let name: String
  let deletes: DeleteRule
  let keyColumns: [String]
  let columns: [Column]
  /// Indices of columns that are unique together.
  var uniques: [[Int]] = []

  struct Column: Hashable, Sendable {
    let name: String
    let rule: MergeRule
  }

  var rules: [MergeRule] { columns.map(\.rule) }

  var block: BodyBlock {
    BodyBlock(
      table: name, deletes: deletes.kind.rawValue, keyColumns: keyColumns,
      columns: columns.map { .init(name: $0.name, rule: $0.rule.kind.rawValue) })
  }

  /// Where a column of a block stands here; one of another rule counts as unknown.
  func index(of column: BodyBlock.Column) -> Int? {
    columns.firstIndex {
      $0.name.folded == column.name.folded && $0.rule.kind.rawValue == column.rule
    }
  }
}
