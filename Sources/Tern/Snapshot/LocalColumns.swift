import TernCore
import TernDatabase

/// What stood in columns that do not travel, of rows that a snapshot does not have: what is merged
/// on top of it may bring them again. In memory are those rows' keys and such columns.
final class LocalColumns {
  private var content: [Int64: [[UInt8]: [String: Value]]] = [:]

  /// Takes a row out of its table, and out of what is held aside.
  func remove(_ key: some ContiguousBytesLike, _ writer: TableWriter) throws {
    let shape = writer.sql.shape
    if !shape.localColumns.isEmpty, let row = try writer.read(key) {
      let names = Set(shape.localColumns)
      let packed = key.withBytes { Array($0) }
      content[shape.id, default: [:]][packed] = row.filter { names.contains($0.key) }
    }
    try writer.removeAndForget(key)
  }

  /// Writes it into the rows of one table that stand there again, as if nothing had been taken: no
  /// trigger hears of it.
  func putBack(_ writer: TableWriter) throws {
    guard let rows = content.removeValue(forKey: writer.sql.shape.id) else { return }
    try writer.transaction.db.withoutTriggers {
      for (key, columns) in rows where try writer.read(key) != nil {
        try writer.change(key, content: columns)
      }
    }
  }
}
