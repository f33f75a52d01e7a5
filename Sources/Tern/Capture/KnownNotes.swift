import TernCore

/// Notes of texts that say nothing which an earlier one of the same burst did not: reading a row
/// again, and its text's state, costs as much as all of a text.
struct KnownNotes {
  /// By packed key, the columns that were looked at while their row was there.
  private var columns: [[UInt8]: ColumnMask] = [:]
  private let isUsed: Bool

  init(_ sql: TableSQL, hasHeld: Bool) {
    // What is quarantined is looked at in other ways.
    isUsed = !hasHeld && sql.shape.columns.contains { $0.rule == .text }
  }

  /// Whether every column that the note names was looked at, in the row as it stands.
  func contains(_ row: NotedRow) -> Bool {
    guard isUsed, let known = columns[row.packedKey] else { return false }
    return !row.note.columns.isEmpty && row.note.columns.isSubset(of: known)
  }

  mutating func insert(_ row: NotedRow) {
    guard isUsed, row.exists else { return }
    columns[row.packedKey, default: ColumnMask()].formUnion(row.note.columns)
  }
}
