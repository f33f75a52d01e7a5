import TernCore

/// Notes of texts that say nothing which an earlier one of the same burst did not: reading a row
/// again, and its text's state, costs as much as all of a text.
struct KnownNotes {
  /// By packed key, the columns that were looked at while their row was there.
  private var masks: [[UInt8]: [Int64]] = [:]
  private let isUsed: Bool

  init(_ shape: TableShape, hasHeld: Bool) {
    // What is held aside is looked at in other ways.
    isUsed = !hasHeld && shape.columns.contains { $0.rule == .text }
  }

  /// Whether every column that the note names was looked at, in the row as it stands.
  func contains(_ row: NotedRow) -> Bool {
    guard isUsed, let known = masks[row.packedKey] else { return false }
    return zip(known, row.masks).allSatisfy { $1 & ~$0 == 0 }
  }

  mutating func insert(_ row: NotedRow) {
    guard isUsed, row.exists else { return }
    let known = masks[row.packedKey]
    masks[row.packedKey] = row.masks.enumerated().map { $1 | (known?[$0] ?? 0) }
  }
}
