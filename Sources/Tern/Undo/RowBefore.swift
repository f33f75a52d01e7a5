import TernCore

/// What a row held before an operation, from earlier operations of the log.
struct RowBefore {
  /// The life that the operation was about.
  let life: UInt32
  /// Whether any write of this life is known.
  private(set) var isKnown = false
  /// Of the first write of the row as a whole: its beginning, where that is known.
  private(set) var firstInsert: Stamp?
  /// Whether any delete of this life is known.
  private(set) var isDeleted = false
  private var latest: [Int: (stamp: Stamp, value: SQLiteValue)] = [:]
  private var sums: [Int: Int128] = [:]
  private var extremes: [Int: SQLiteValue] = [:]
  private var sets: [Int: ElementSet] = [:]
  private var texts: [Int: TextSequence] = [:]

  init(life: UInt32) {
    self.life = life
  }

  mutating func add(
    _ change: LoggedChange, _ shape: TableShape, _ stamp: Stamp, sequence: UInt64,
    _ authors: Authors
  ) {
    guard change.life == life else { return }
    guard change.kind != .delete else {
      isDeleted = true
      return
    }
    isKnown = true
    if change.kind == .insert, firstInsert.map({ authors.isLess(stamp, $0) }) ?? true {
      firstInsert = stamp
    }
    for (target, content) in change.columns {
      switch content {
      case .difference(let number): sums[target, default: 0] &+= number
      case .set(let difference):
        _ = sets[target, default: ElementSet()]
          .apply(difference, by: authors.ids[Int(stamp.author)], Turn(sequence))
      case .text(let edit):
        _ = texts[target, default: TextSequence()]
          .apply(edit, by: authors.ids[Int(stamp.author)], sequence)
      case .value(let value):
        let rule = shape.columns[target].rule
        if rule.isLastWriter {
          let isLater = latest[target].map { authors.isLess($0.stamp, stamp) } ?? true
          if isLater { latest[target] = (stamp, value) }
        } else if extremes[target].map({ rule.isBeaten($0, by: value) }) ?? true {
          extremes[target] = value
        }
      }
    }
  }

  /// The latest value of a column that the last writer decides, if the log holds all that was
  /// written after `time`; otherwise a later one may be missing.
  func latest(_ target: Int, after time: HybridTime) -> SQLiteValue? {
    latest[target].flatMap { $0.stamp.time > time ? $0.value : nil }
  }

  /// From all writes; `nil` for a column that was not written.
  func value(of target: Int) -> SQLiteValue? {
    latest[target]?.value ?? sums[target].map { .integer(Int64(clamping: $0)) }
      ?? extremes[target] ?? sets[target]?.json ?? texts[target].map { .text($0.text) }
  }

  /// Whether the last writer decides every column, and the log holds the latest value of each.
  func isWhole(_ shape: TableShape, after time: HybridTime) -> Bool {
    shape.columns.indices.allSatisfy { latest($0, after: time) != nil }
  }

  func sum(of target: Int) -> Int128 { sums[target] ?? 0 }
  func elements(of target: Int) -> [SQLiteValue] { sets[target]?.elements ?? [] }
  /// Whether edits of a text build on ones that are not among these.
  func hasWaitingEdits(of target: Int) -> Bool { texts[target]?.waitingCount ?? 0 > 0 }
}
