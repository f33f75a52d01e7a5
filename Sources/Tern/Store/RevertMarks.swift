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
struct RevertMarks {
  private let connection: StoreConnection
  private var table: String { connection.tables.reverted }
  /// Stands for the row, and not one of its columns.
  private static let wholeRow: Int64 = -1

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  /// Whether a revert took back anything of the operation, and was not undone.
  func isReverted(_ id: LogID) throws -> Bool {
    let select = try connection.statement(
      "SELECT 1 FROM \(table) WHERE id = ? AND undone IS NULL LIMIT 1")
    select.bind(1, id.rawValue)
    return try select.first {} != nil
  }

  /// The numbers of the columns that are corrected.
  func columns(of row: RowID, in id: LogID) throws -> Set<Int64> {
    let select = try connection.statement(
      "SELECT col FROM \(table) WHERE id = ? AND tbl = ? AND key = ? AND undone IS NULL")
    select.bindAll(id.rawValue, row.table, SQLiteValue.blob(row.key))
    var columns: Set<Int64> = []
    try select.each { columns.insert(select.int64(0)) }
    return columns
  }

  /// - Parameter revert: the last own operation of what took it back.
  func save(_ marks: [RevertMark], by revert: UInt64) throws {
    let put = try connection.statement(
      "REPLACE INTO \(table) (revert, tbl, key, id, col) VALUES (?, ?, ?, ?, ?)")
    let revert = LogID(author: 0, sequence: revert).rawValue
    for mark in marks {
      for column in [Self.wholeRow] + mark.columns {
        put.bindAll(
          revert, mark.row.table, SQLiteValue.blob(mark.row.key), mark.id.rawValue, column)
        try put.run()
      }
    }
  }

  /// Whether the operation is a revert that took anything back.
  func hasMarks(by revert: UInt64) throws -> Bool {
    let select = try connection.statement("SELECT 1 FROM \(table) WHERE revert = ? LIMIT 1")
    select.bind(1, LogID(author: 0, sequence: revert).rawValue)
    return try select.first {} != nil
  }

  /// Takes the marks of a row away, but for columns that the undo of the revert left.
  func drop(_ row: RowID, _ columns: [Int64], by revert: UInt64, undoneBy undo: UInt64) throws {
    let put = try connection.statement(
      "UPDATE \(table) SET undone = ? WHERE revert = ? AND tbl = ? AND key = ? AND col = ?")
    let ids = [undo, revert].map { LogID(author: 0, sequence: $0).rawValue }
    for column in [Self.wholeRow] + columns {
      put.bindAll(ids[0], ids[1], row.table, SQLiteValue.blob(row.key), column)
      try put.run()
    }
  }

  func undone(of author: UInt32) throws -> UndoneReverts {
    let log = LogTable(connection)
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
    let select = try connection.statement(
      "SELECT revert, undone FROM \(table) WHERE id > ? AND id <= ? AND undone IS NOT NULL")
    select.bindAll(of: author)
    var ends: Set<LogID> = []
    try select.each {
      ends.formUnion([LogID(rawValue: select.int64(0)), LogID(rawValue: select.int64(1))])
    }
    return ends
  }
}
