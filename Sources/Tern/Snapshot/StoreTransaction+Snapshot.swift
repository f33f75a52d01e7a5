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
    return try log.operation(id)?.envelope.time
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
