import TernCore
import TernDatabase

extension StoreTransaction {
  /// The time of an author's last merged operation.
  func time(ofMerged author: UInt32, _ row: AuthorRow) throws -> HybridTime {
    guard let time = try time(of: LogID(author: author, sequence: row.merged), row) else {
      throw ReplicaError(.damaged, "the log lacks an operation that it acknowledged")
    }
    return time
  }

  /// The time of an operation that was stored here, `nil` where it was trimmed with later ones.
  ///
  /// - Parameter row: its author's.
  func time(of id: LogID, _ row: AuthorRow) throws -> HybridTime? {
    if id.sequence == row.stored { return row.time }
    if id.sequence == row.trimmed { return row.trimmedTime }
    return try operation(id)?.envelope.time
  }

  /// An author's operations in the log behind a sequence number.
  func logIDs(of author: UInt32, after sequence: UInt64) throws -> [LogID] {
    let select = try statement("SELECT id FROM \(tables.log) WHERE id > ? AND id < ? ORDER BY id")
    select.bind(1, LogID(author: author, sequence: sequence).rawValue)
    select.bind(2, LogID(author: author + 1, sequence: 0).rawValue)
    defer { select.reset() }
    var ids: [LogID] = []
    while try select.step() { ids.append(LogID(rawValue: select.int64(0))) }
    return ids
  }

  func dropFromLog(_ id: LogID) throws {
    let delete = try statement("DELETE FROM \(tables.log) WHERE id = ?")
    delete.bind(1, id.rawValue)
    try delete.run()
  }

  func forgetLog(of author: UInt32, upTo sequence: UInt64) throws {
    let delete = try statement("DELETE FROM \(tables.log) WHERE id > ? AND id <= ?")
    delete.bind(1, LogID(author: author, sequence: 0).rawValue)
    delete.bind(2, LogID(author: author, sequence: sequence).rawValue)
    try delete.run()
  }

  func saveTrimmed(_ row: AuthorRow, of author: UInt32) throws {
    let update = try statement(
      "UPDATE \(tables.author) SET trimmed = ?, trimmed_time = ? WHERE idx = ?")
    update.bind(1, raw: row.trimmed)
    update.bind(2, raw: row.trimmedTime.rawValue)
    update.bind(3, Int64(author))
    try update.run()
  }
}
