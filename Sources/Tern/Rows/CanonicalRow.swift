import TernCore

/// One row of the merged state, in terms that mean the same on every replica.
package struct CanonicalRow: Hashable, Sendable {
  package var table: String
  package var key: [SQLiteValue]
  package var life: UInt32
  package var time: HybridTime
  package var author: ReplicaID?
  package var isDeleted: Bool
  /// By column name; columns at their default are left out. Empty for a deleted row.
  package var cells: [String: CanonicalCell]
  /// Whether the row stands in its table.
  package var isShown: Bool

  package init(
    table: String, key: [SQLiteValue], life: UInt32, time: HybridTime, author: ReplicaID?,
    isDeleted: Bool, cells: [String: CanonicalCell], isShown: Bool
  ) {
    self.table = table
    self.key = key
    self.life = life
    self.time = time
    self.author = author
    self.isDeleted = isDeleted
    self.cells = cells
    self.isShown = isShown
  }
}

package struct CanonicalCell: Hashable, Sendable {
  package var value: SQLiteValue
  /// Zero and `nil` for counters, whose sum has no one author.
  package var time: HybridTime
  package var author: ReplicaID?

  package init(value: SQLiteValue, time: HybridTime, author: ReplicaID?) {
    self.value = value
    self.time = time
    self.author = author
  }
}
