import TernCore
import TernDatabase

/// Rows that were written here and that no operation can hold.
///
/// Their notes wait, by key, beside the note tables. The next note of such a row brings the waiting
/// one back before it, so that all columns that were ever written are looked at again.
extension StoreTransaction {
  func leaveOut(_ key: [UInt8], _ columns: ColumnMask, of table: Int64) throws {
    hasLargeRows = true
    var columns = columns
    if let earlier = try largeRows(of: table).first(where: { $0.key == key }) {
      columns.formUnion(earlier.columns)
    }
    var writer = ByteWriter()
    for word in columns.words { writer.append(.integer(word)) }
    let put = try statement("REPLACE INTO \(tables.large) (tbl, key, masks) VALUES (?, ?, ?)")
    put.bindAll(table, Value.blob(key), Value.blob(writer.bytes))
    try put.run()
  }

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
    for row in try largeRows(of: sql.shape.id) {
      for (index, value) in try unpacked(row.key).enumerated() {
        insert.bind(Int32(index + 1), copy: value)
      }
      for index in note.maskNames.indices {
        insert.bind(Int32(keys.count + index + 1), row.columns[index])
      }
      if try insert.runCounting() { try forgetLargeRow(row.key, of: sql.shape.id) }
    }
  }

  /// A merge may have deleted what waited. What it held aside, or keeps, comes back one day; what
  /// the state shows and no table has was deleted here, in a life that does not travel.
  func forgetLargeRowsThatWent() throws {
    for sql in sql {
      let rows = try largeRows(of: sql.shape.id)
      if rows.isEmpty { continue }
      let read = try statement(sql.read)
      for row in rows {
        let (id, key) = (sql.shape.id, try unpacked(row.key))
        for (index, value) in key.enumerated() { read.bind(Int32(index + 1), copy: value) }
        if try read.first({}) != nil || state(of: key, sql)?.isShown ?? false { continue }
        if try !isHeld(id, row.key) && storedContent(in: .kept, id, row.key) == nil {
          try forgetLargeRow(row.key, of: id)
        }
      }
    }
  }

  private func forgetLargeRow(_ key: [UInt8], of table: Int64) throws {
    let delete = try statement("DELETE FROM \(tables.large) WHERE tbl = ? AND key = ?")
    delete.bindAll(table, Value.blob(key))
    try delete.run()
  }

  func largeRows(of table: Int64) throws -> [(key: [UInt8], columns: ColumnMask)] {
    let select = try statement("SELECT key, masks FROM \(tables.large) WHERE tbl = ? ORDER BY key")
    select.bind(1, table)
    defer { select.reset() }
    var rows: [(key: [UInt8], columns: ColumnMask)] = []
    while try select.step() {
      let words = try unpacked(Array(select.blob(1))).map { value in
        if case .integer(let word) = value { word } else { Int64(-1) }
      }
      let columns = ColumnMask(first: words.first ?? 0, rest: Array(words.dropFirst()))
      rows.append((Array(select.blob(0)), columns))
    }
    return rows
  }

  private func unpacked(_ bytes: [UInt8]) throws -> [Value] {
    try bytes.withUnsafeBytes { try PackedKey.values($0) }
  }

  /// By the table's name.
  func countLargeRows() throws -> [String: Int] {
    let counts = try sql.map { ($0.shape.name, try largeRows(of: $0.shape.id).count) }
    return Dictionary(uniqueKeysWithValues: counts).filter { $0.value > 0 }
  }
}
