import TernCore
import TernDatabase

/// The operation that an undo is about.
struct UndoTarget {
  let group: LogGroup
  let operations: [SyncOperation]
  let stamp: Stamp
  /// When later operations were undone: what they wrote stands for what stood before.
  let undoTimes: Set<HybridTime>

  var sequence: UInt64 { group.sequences.upperBound }
}

/// Own operations, by the sequence of their group's last, that no undo is about: those that were
/// undone, those that undid, and those that adopted rows when a table began to sync.
extension StoreTransaction {
  /// The last own operation that can be undone; `nil` where the log has none.
  func undoTarget() throws -> UndoTarget? {
    var search = try UndoSearch(author(0).merged)
    return try search.next(in: self)
  }

  /// Whether an operation undid another; `nil` for one that can be undone.
  fileprivate func undoMark(of sequence: UInt64) throws -> Bool? {
    let select = try statement("SELECT is_undo FROM \(tables.undone) WHERE sequence = ?")
    select.bind(1, raw: sequence)
    defer { select.reset() }
    return try select.step() ? select.int64(0) != 0 : nil
  }

  func markUndone(_ sequence: UInt64, isUndo: Bool = false) throws {
    let mark = try statement("REPLACE INTO \(tables.undone) (sequence, is_undo) VALUES (?, ?)")
    mark.bind(1, raw: sequence)
    mark.bind(2, isUndo ? 1 : 0)
    try mark.run()
  }
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
      let isUndo = try transaction.undoMark(of: last)
      var operations: [SyncOperation] = []
      var time: HybridTime?
      var first = last
      while let operation = try transaction.operation(LogID(author: 0, sequence: first)) {
        if time != nil, !operation.envelope.continues { break }
        time = time ?? operation.envelope.time
        if isUndo == nil { operations.insert(operation, at: 0) }
        first -= 1
        if first == 0 { break }
      }
      guard let time else { return nil }
      let sequences = first + 1...last
      last = first
      guard let isUndo else {
        return UndoTarget(
          group: LogGroup(author: 0, sequences: sequences), operations: operations,
          stamp: Stamp(time: time, author: 0), undoTimes: undoTimes)
      }
      if isUndo { undoTimes.insert(time) }
    }
    return nil
  }

  /// What came last was undone by operations with these times. To those that follow they are later
  /// ones.
  mutating func note(_ undos: Set<HybridTime>) { undoTimes.formUnion(undos) }
}
