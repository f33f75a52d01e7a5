import TernCore
import TernDatabase

/// Which rows were written here and are in no operation, because they are too large, and their
/// columns that were written. The next note of such a row brings the waiting one back before it.
struct LargeTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.large }
  /// Whether there may be any.
  private(set) var hasRows: Bool

  init(_ connection: StoreConnection, hasRows: Bool) {
    (self.connection, self.hasRows) = (connection, hasRows)
  }

  mutating func leaveOut(_ key: [UInt8], _ columns: ColumnMask, of id: Int64) throws {
    hasRows = true
    var columns = columns
    if let earlier = try rows(of: id).first(where: { $0.key == key }) {
      columns.formUnion(earlier.columns)
    }
    var writer = ByteWriter()
    for word in columns.words { writer.append(.integer(word)) }
    let put = try connection.statement("REPLACE INTO \(table) (tbl, key, masks) VALUES (?, ?, ?)")
    put.bindAll(id, SQLiteValue.blob(key), SQLiteValue.blob(writer.bytes))
    try put.run()
  }

  /// Where one is there that has been written again, or that went.
  func forget(_ key: [UInt8], of id: Int64) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE tbl = ? AND key = ?")
    delete.bindAll(id, SQLiteValue.blob(key))
    try delete.run()
  }

  func rows(of id: Int64) throws -> [(key: [UInt8], columns: ColumnMask)] {
    let select = try connection.statement(
      "SELECT key, masks FROM \(table) WHERE tbl = ? ORDER BY key")
    select.bind(1, id)
    defer { select.reset() }
    var rows: [(key: [UInt8], columns: ColumnMask)] = []
    while try select.step() {
      let words = try PackedKey.values(select.blob(1)).map { value in
        if case .integer(let word) = value { word } else { Int64(-1) }
      }
      let columns = ColumnMask(first: words.first ?? 0, rest: Array(words.dropFirst()))
      rows.append((Array(select.blob(0)), columns))
    }
    return rows
  }

  /// How many there are of each table that has any, by the table's name.
  func counts(of sql: [TableSQL]) throws -> [String: Int] {
    let counts = try sql.map { ($0.shape.name, try rows(of: $0.shape.id).count) }
    return Dictionary(uniqueKeysWithValues: counts).filter { $0.value > 0 }
  }

  /// Puts the waiting notes of rows that were noted again before those: all columns that were ever
  /// written are looked at again.
  func noteAgain(_ sql: TableSQL) throws {
    let (note, table) = (sql.note, sql.note.noteTable)
    let parameters = (note.keyNames + note.maskNames).indices.map { "?\($0 + 1)" }
    let keys = parameters.prefix(note.keyNames.count)
    let match = zip(note.keyNames, keys).map { "\($0) = \($1)" }.joined(separator: " AND ")
    let values = parameters.dropFirst(keys.count) + keys
    let insert = try connection.statement(
      "INSERT INTO \(table) (rowid, \(note.noteColumns.joined(separator: ", "))) "
        + "SELECT (SELECT min(rowid) FROM \(table)) - 1, ms, \(values.joined(separator: ", ")) "
        + "FROM \(table) WHERE \(match) ORDER BY rowid LIMIT 1")
    for row in try rows(of: sql.shape.id) {
      let key = try row.key.withUnsafeBytes { try PackedKey.values($0) }
      for (index, value) in key.enumerated() { insert.bind(Int32(index + 1), copy: value) }
      for index in note.maskNames.indices {
        insert.bind(Int32(keys.count + index + 1), row.columns[index])
      }
      if try insert.runCounting() { try forget(row.key, of: sql.shape.id) }
    }
  }

  func holds(_ key: [UInt8], of id: Int64) throws -> Bool {
    guard hasRows else { return false }
    let select = try connection.statement("SELECT 1 FROM \(table) WHERE tbl = ? AND key = ?")
    select.bindAll(id, SQLiteValue.blob(key))
    return try select.first {} != nil
  }
}
