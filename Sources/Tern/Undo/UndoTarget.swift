import TernCore
import TernDatabase

/// The operation that an undo is about.
struct UndoTarget {
  let group: LogGroup
  let operations: [Operation]
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
    var undoTimes: Set<HybridTime> = []
    var last = try author(0).merged
    while last > 0 {
      var operations: [Operation] = []
      var first = last
      while let operation = try operation(LogID(author: 0, sequence: first)) {
        if !operations.isEmpty, !operation.envelope.continues { break }
        operations.insert(operation, at: 0)
        first -= 1
        if first == 0 { break }
      }
      guard let time = operations.last?.envelope.time else { return nil }
      guard let isUndo = try undoMark(of: last) else {
        return UndoTarget(
          group: LogGroup(author: 0, sequences: first + 1...last), operations: operations,
          stamp: Stamp(time: time, author: 0), undoTimes: undoTimes)
      }
      if isUndo { undoTimes.insert(time) }
      last = first
    }
    return nil
  }

  /// Whether an operation undid another; `nil` for one that can be undone.
  private func undoMark(of sequence: UInt64) throws -> Bool? {
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
