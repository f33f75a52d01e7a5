import TernCore
import TernDatabase

/// What stood in columns that do not travel, of rows that a snapshot, or what is merged on top of
/// it, takes out of their tables: the latter may bring them again, and then they come with it, so
/// that the app's triggers see rows go and come as they are. In memory are those rows' keys and
/// such columns.
final class LocalColumns {
  private struct Row {
    let content: [String: SQLiteValue]
    /// It stands again, or is quarantined.
    var isBack = false
  }

  private var rows: [Int64: [[UInt8]: Row]] = [:]

  /// Takes a row out of its table, and out of what is quarantined.
  func remove(_ key: some ContiguousBytesLike, _ writer: TableWriter) throws {
    try noteRemoved(key, writer)
    try writer.removeAndForget(key)
  }

  /// Whether a row that comes now has some.
  func hasSome(for key: some ContiguousBytesLike, _ shape: TableShape) -> Bool {
    guard let rows = rows[shape.id] else { return false }
    return rows[key.withBytes { Array($0) }].map { !$0.isBack } ?? false
  }

  /// Gives them to a row that comes, once.
  func giveBack(to key: some ContiguousBytesLike, _ shape: TableShape) -> [String: SQLiteValue] {
    guard hasSome(for: key, shape) else { return [:] }
    let packed = key.withBytes { Array($0) }
    rows[shape.id]![packed]!.isBack = true
    return rows[shape.id]![packed]!.content
  }

  /// The row goes, perhaps again, and may come once more.
  func noteRemoved(_ key: some ContiguousBytesLike, _ writer: TableWriter) throws {
    let shape = writer.sql.shape
    let packed = key.withBytes { Array($0) }
    if rows[shape.id]?[packed] != nil {
      rows[shape.id]![packed]!.isBack = false
      return
    }
    let names = Set(shape.localColumns)
    guard !names.isEmpty, let row = try writer.standing(key) else { return }
    rows[shape.id, default: [:]][packed] = Row(content: row.filter { names.contains($0.key) })
  }
}
