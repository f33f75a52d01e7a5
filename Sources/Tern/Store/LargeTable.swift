import TernCore
import TernDatabase

/// Which rows were written here and are in no operation, because they are too large, and their
/// columns that were written.
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
    put.bindAll(id, Value.blob(key), Value.blob(writer.bytes))
    try put.run()
  }

  /// Where one is there that has been written again, or that went.
  func forget(_ key: [UInt8], of id: Int64) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE tbl = ? AND key = ?")
    delete.bindAll(id, Value.blob(key))
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

  func holds(_ key: [UInt8], of id: Int64) throws -> Bool {
    guard hasRows else { return false }
    let select = try connection.statement("SELECT 1 FROM \(table) WHERE tbl = ? AND key = ?")
    select.bindAll(id, Value.blob(key))
    return try select.first {} != nil
  }
}
