import TernCore

extension TableShape {
  package struct Unique: Hashable, Sendable {
    package var name: String
    /// The columns that decide who collides: those of the index, or, where something is computed,
    /// those that its expressions, its WHERE and the generated columns in them name.
    package var columns: [IndexedColumn]
    /// `nil` where values stand in the index as they are in the row, of all rows.
    package var computed: ComputedIndex?
  }

  package struct IndexedColumn: Hashable, Sendable {
    package var name: String
    package var affinity: Affinity
    /// The index's, or the column's own where the index computes something of it.
    package var collation: String
    /// SQL of what it holds where nothing was written.
    package var defaultValue: String
    package var isNotNull = false
  }

  /// A UNIQUE index over a part of the rows, over expressions or over generated columns.
  package struct ComputedIndex: Hashable, Sendable {
    var terms: [Term]
    var condition: IndexExpression?
    /// Those that ``terms``, ``condition`` and these name.
    var generated: [GeneratedColumn]
    /// The local column that may stand in ``condition``, and counts as NULL in a row that is
    /// searched for.
    var pointer: String?
    /// Whether the rows are left out that point to another.
    var isPointed = false
    /// Whether nothing else makes it another than a plain index: values stand in it as they are.
    var isPlainBesidePointer = false

    /// SQL that is true of a row in the index and another that would collide with it there.
    func matches(_ row: String, _ other: String) -> [String] {
      (condition.map { ["(\($0.of(row)))"] } ?? [])
        + terms.map {
          "(\($0.expression.of(row))) COLLATE \($0.collation.quoted) = (\($0.expression.of(other)))"
        }
    }

    struct Term: Hashable, Sendable {
      var expression: IndexExpression
      var collation: String
    }

    struct GeneratedColumn: Hashable, Sendable {
      var name: String
      var affinity: Affinity
      var collation: String
      var expression: IndexExpression
    }
  }
}
