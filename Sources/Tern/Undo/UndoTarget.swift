import TernCore
import TernDatabase

/// The operation that an undo is about.
struct UndoTarget {
  let group: LogGroup
  let operations: [SyncOperation]
  let stamp: Stamp
  let writes: UndoneWrites

  var sequence: UInt64 { group.sequences.upperBound }
}

/// Which stamps in a row's state are of what is taken back.
struct UndoneWrites {
  let author: UInt32
  let times: Set<HybridTime>
  /// When later operations were undone: what they wrote stands for what stood before.
  var undoTimes: Set<HybridTime> = []
  /// Reverts that were undone, and what undid them, count as what they were about.
  var reverts = UndoneReverts()

  func contains(_ stamp: Stamp) -> Bool {
    stamp.author == author && times.contains(stamp.time) || reverts.stamps.contains(stamp)
  }
  func isUndo(_ stamp: Stamp) -> Bool { stamp.author == 0 && undoTimes.contains(stamp.time) }
}

/// Goes through the own operations that can be undone, the last first.
struct UndoSearch {
  private var last: UInt64
  private var undoTimes: Set<HybridTime> = []

  init(_ last: UInt64) {
    self.last = last
  }

  /// - Returns: `nil` where the log has no further one.
  mutating func next(in transaction: StoreTransaction) throws -> UndoTarget? {
    while last > 0 {
      // Of what is passed over nothing is kept: a table that began to sync can be one large group.
      let mark = try transaction.undone.mark(of: LogID(author: 0, sequence: last))
      var isPassed = mark.map { $0 != .revert } ?? false
      var operations: [SyncOperation] = []
      var time: HybridTime?
      var first = last
      while let operation = try transaction.log.operation(LogID(author: 0, sequence: first)) {
        if time != nil, !operation.envelope.continues { break }
        time = time ?? operation.envelope.time
        if try !isPassed && transaction.reverted.isReverted(LogID(author: 0, sequence: first)) {
          (isPassed, operations) = (true, [])
        }
        if !isPassed { operations.insert(operation, at: 0) }
        first -= 1
        if first == 0 { break }
      }
      guard let time else { return nil }
      let sequences = first + 1...last
      last = first
      guard isPassed else {
        return UndoTarget(
          group: LogGroup(author: 0, sequences: sequences), operations: operations,
          stamp: Stamp(time: time, author: 0),
          writes: UndoneWrites(author: 0, times: [time], undoTimes: undoTimes))
      }
      if mark == .undo { undoTimes.insert(time) }
    }
    return nil
  }

  /// What came last was undone by operations with these times. To those that follow they are later
  /// ones.
  mutating func note(_ undos: Set<HybridTime>) { undoTimes.formUnion(undos) }
}
