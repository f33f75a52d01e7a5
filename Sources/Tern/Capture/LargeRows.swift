import TernCore
import TernDatabase

/// Rows that were written here and that no operation can hold.
///
/// Their notes wait, by key, beside the note tables. The next note of such a row brings the waiting
/// one back before it, so that all columns that were ever written are looked at again.
extension StoreTransaction {
  /// Puts the waiting notes of rows that were noted again before those.
  func noteLargeRowsAgain(_ sql: TableSQL) throws {
    let (note, table) = (sql.note, sql.note.noteTable)
    let parameters = (note.keyNames + note.maskNames).indices.map { "?\($0 + 1)" }
    let keys = parameters.prefix(note.keyNames.count)
    let match = zip(note.keyNames, keys).map { "\($0) = \($1)" }.joined(separator: " AND ")
    let values = parameters.dropFirst(keys.count) + keys
    let insert = try statement(
      "INSERT INTO \(table) (rowid, \(note.noteColumns.joined(separator: ", "))) "
        + "SELECT (SELECT min(rowid) FROM \(table)) - 1, ms, \(values.joined(separator: ", ")) "
        + "FROM \(table) WHERE \(match) ORDER BY rowid LIMIT 1")
    for row in try large.rows(of: sql.shape.id) {
      for (index, value) in try unpacked(row.key).enumerated() {
        insert.bind(Int32(index + 1), copy: value)
      }
      for index in note.maskNames.indices {
        insert.bind(Int32(keys.count + index + 1), row.columns[index])
      }
      if try insert.runCounting() { try large.forget(row.key, of: sql.shape.id) }
    }
  }

  /// A merge may have deleted what waited. What it held aside, or keeps, comes back one day; what
  /// the state shows and no table has was deleted here, in a life that does not travel.
  func forgetLargeRowsThatWent() throws {
    for sql in sql {
      let rows = try large.rows(of: sql.shape.id)
      if rows.isEmpty { continue }
      let read = try statement(sql.read)
      for row in rows {
        let (id, key) = (sql.shape.id, try unpacked(row.key))
        for (index, value) in key.enumerated() { read.bind(Int32(index + 1), copy: value) }
        if try read.first({}) != nil || state(of: key, sql)?.isShown ?? false { continue }
        if try !held.holds(id, row.key) && held.content(in: .kept, id, row.key) == nil {
          try large.forget(row.key, of: id)
        }
      }
    }
  }

  private func unpacked(_ bytes: [UInt8]) throws -> [Value] {
    try bytes.withUnsafeBytes { try PackedKey.values($0) }
  }

  /// By the table's name.
  func countLargeRows() throws -> [String: Int] {
    let counts = try sql.map { ($0.shape.name, try large.rows(of: $0.shape.id).count) }
    return Dictionary(uniqueKeysWithValues: counts).filter { $0.value > 0 }
  }
}
