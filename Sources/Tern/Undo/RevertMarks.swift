import TernCore
import TernDatabase

/// Which operations count as a reverted author's, beside the author's own: reverts of it that were
/// undone, and what undid them. Together they did nothing.
struct UndoneReverts {
  var operations: Set<LogID> = []
  var stamps: Set<Stamp> = []
}

/// What a revert corrected of an operation: a row of it, and of this row what adds up or is made
/// of edits.
struct RevertMark {
  let id: LogID
  let row: RowID
  /// By the column's number.
  let columns: [Int64]
}

/// Marks of what was reverted, by operation, row and column; and by the revert, since an undo of
/// that takes them away.
extension StoreTransaction {
  /// Stands for the row, and not one of its columns.
  private static let wholeRow: Int64 = -1

  /// Whether a revert took back anything of the operation, and was not undone.
  func isReverted(_ id: LogID) throws -> Bool {
    let select = try statement(
      "SELECT 1 FROM \(tables.reverted) WHERE id = ? AND undone IS NULL LIMIT 1")
    select.bind(1, id.rawValue)
    defer { select.reset() }
    return try select.step()
  }

  /// The numbers of the columns that are corrected.
  func correctedColumns(of row: RowID, in id: LogID) throws -> Set<Int64> {
    let select = try statement(
      """
      SELECT col FROM \(tables.reverted) WHERE id = ? AND tbl = ? AND key = ? AND undone IS NULL
      """)
    select.bind(1, id.rawValue)
    select.bind(2, row.table)
    select.bind(3, copy: .blob(row.key))
    defer { select.reset() }
    var columns: Set<Int64> = []
    while try select.step() { columns.insert(select.int64(0)) }
    return columns
  }

  /// - Parameter revert: the last own operation of what took it back.
  func mark(_ marks: [RevertMark], by revert: UInt64) throws {
    let put = try statement(
      "REPLACE INTO \(tables.reverted) (revert, tbl, key, id, col) VALUES (?, ?, ?, ?, ?)")
    for mark in marks {
      for column in [Self.wholeRow] + mark.columns {
        put.bind(1, LogID(author: 0, sequence: revert).rawValue)
        put.bind(2, mark.row.table)
        put.bind(3, copy: .blob(mark.row.key))
        put.bind(4, mark.id.rawValue)
        put.bind(5, column)
        try put.run()
      }
    }
  }

  /// Whether the operation is a revert that took anything back.
  func hasMarks(by revert: UInt64) throws -> Bool {
    let select = try statement("SELECT 1 FROM \(tables.reverted) WHERE revert = ? LIMIT 1")
    select.bind(1, LogID(author: 0, sequence: revert).rawValue)
    defer { select.reset() }
    return try select.step()
  }

  /// Takes the marks of a row away, but for columns that the undo of the revert left.
  func unmark(_ row: RowID, _ columns: [Int64], by revert: UInt64, undoneBy undo: UInt64) throws {
    let put = try statement(
      """
      UPDATE \(tables.reverted) SET undone = ?
      WHERE revert = ? AND tbl = ? AND key = ? AND col = ?
      """)
    for column in [Self.wholeRow] + columns {
      put.bind(1, LogID(author: 0, sequence: undo).rawValue)
      put.bind(2, LogID(author: 0, sequence: revert).rawValue)
      put.bind(3, row.table)
      put.bind(4, copy: .blob(row.key))
      put.bind(5, column)
      try put.run()
    }
  }

  func undoneReverts(of author: UInt32) throws -> UndoneReverts {
    var found = UndoneReverts()
    for end in try undoneEnds(of: author) {
      var id = end
      var isPart = true
      // Of a group the last operation is named, and those before it continue.
      while isPart, let operation = try log.operation(id) {
        found.operations.insert(id)
        found.stamps.insert(Stamp(time: operation.envelope.time, author: id.author))
        if id.sequence == 1 { break }
        id = LogID(author: id.author, sequence: id.sequence - 1)
        isPart = try log.operation(id)?.envelope.continues ?? false
      }
    }
    return found
  }

  private func undoneEnds(of author: UInt32) throws -> Set<LogID> {
    let select = try statement(
      """
      SELECT revert, undone FROM \(tables.reverted)
      WHERE id > ? AND id <= ? AND undone IS NOT NULL
      """)
    select.bind(1, LogID(author: author, sequence: 0).rawValue)
    select.bind(2, LogID(author: author, sequence: VersionVector.maximumSequence).rawValue)
    defer { select.reset() }
    var ends: Set<LogID> = []
    while try select.step() {
      for column in 0...1 as ClosedRange<Int32> {
        ends.insert(LogID(rawValue: select.int64(column)))
      }
    }
    return ends
  }
}
