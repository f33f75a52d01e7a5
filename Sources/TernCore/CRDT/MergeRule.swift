/// How concurrent writes to one column become one value.
public struct MergeRule: Hashable, Sendable {
  package enum Kind: UInt8, Sendable, CaseIterable {
    case lastWriter = 0
    case counter = 1
    case maximum = 2
    case minimum = 3
    case set = 4
    case text = 5
    case order = 6
  }

  package let kind: Kind

  package init(_ kind: Kind) {
    self.kind = kind
  }

  /// The write with the greatest (life, time, replica) wins. The default.
  public static let lastWriter = MergeRule(.lastWriter)
  /// The sum of every replica's differences. The column must be `INTEGER NOT NULL`; the sum is
  /// kept in 128 bits and clamped to 64 in the table.
  ///
  /// A row that is deleted and inserted again before it is sealed, or replaced, goes on living: its
  /// new number counts as a difference to the old one.
  public static let counter = MergeRule(.counter)
  /// The greatest value of this life of the row, by SQLite's order over types; NULL yields to
  /// every other value, as in SQLite's aggregates.
  ///
  /// A value counts from when it is sealed: write `max(column, value)` where a smaller one of the
  /// same device could follow at once. A row that is deleted and inserted again before it is
  /// sealed, or replaced, goes on living: its old value stays over a smaller new one.
  public static let max = MergeRule(.maximum)
  /// The least value of this life of the row, by SQLite's order over types; NULL yields to every
  /// other value, as in SQLite's aggregates. It counts as for ``max``.
  public static let min = MergeRule(.minimum)

  /// A JSON array of texts and numbers that every device adds to and takes from: a removal covers
  /// the additions that its author had seen, and an element that was added meanwhile stays. The
  /// column must be `TEXT NOT NULL`; what it shows is sorted and holds each element once.
  public static let set = MergeRule(.set)

  /// A text that every device edits, character by character: what somebody inserted stays, whole
  /// and in its place, until somebody who saw it removes it. The column must be `TEXT NOT NULL`; it
  /// holds the plain text. Devices write the whole column, or a ``TextDraft``'s edits.
  public static let text = MergeRule(.text)

  /// Where the row stands in a list, as an ``OrderKey``: `ORDER BY` the column is the order. The
  /// later of two moves of one row stays; rows that were moved to one spot stand beside each other,
  /// in the same order everywhere. The column must be `TEXT`, COLLATE BINARY.
  public static let order = MergeRule(.order)

  /// Whether the latest write stands, as it was written.
  package var isLastWriter: Bool { kind == .lastWriter || kind == .order }

  /// Whether an extreme gives way to another, different value.
  package func isBeaten(_ old: SQLiteValue, by new: SQLiteValue) -> Bool {
    if old == .null { return true }
    if new == .null { return false }
    return kind == .maximum ? old < new : new < old
  }
}

extension MergeRule: CustomStringConvertible {
  public var description: String {
    switch kind {
    case .lastWriter: "lastWriter"
    case .counter: "counter"
    case .maximum: "max"
    case .minimum: "min"
    case .set: "set"
    case .order: "order"
    case .text: "text"
    }
  }
}
