import TernDatabase

/// Synced rows that a merge took out of their tables, and to which rows of unsynced tables may
/// refer. Each stays until a pull is at its end: it may be quarantined, or come back meanwhile.
struct GoneParentTable {
  private let connection: StoreConnection
  private var table: String { connection.tables.goneLocal }

  init(_ connection: StoreConnection) {
    self.connection = connection
  }

  func note(_ id: Int64, _ key: some ContiguousBytesLike) throws {
    let put = try connection.statement("INSERT OR IGNORE INTO \(table) VALUES (?, ?)")
    try key.withBytes { key in
      put.bind(1, id)
      put.bind(2, blob: key)
      try put.run()
    }
  }

  func hasAny() throws -> Bool {
    try connection.statement("SELECT 1 FROM \(table) LIMIT 1").first {} != nil
  }

  /// In the order of tables and keys, behind one.
  func rows(after last: RowID?, limit: Int) throws -> [RowID] {
    let select = try connection.statement(
      "SELECT tbl, key FROM \(table) WHERE (tbl, key) > (?, ?) ORDER BY tbl, key LIMIT ?")
    select.bindAll(last?.table ?? .min, SQLiteValue.blob(last?.key ?? []), limit)
    var rows: [RowID] = []
    try select.each { rows.append(RowID(table: select.int64(0), key: Array(select.blob(1)))) }
    return rows
  }

  func forget(_ row: RowID) throws {
    let delete = try connection.statement("DELETE FROM \(table) WHERE tbl = ? AND key = ?")
    delete.bindAll(row.table, SQLiteValue.blob(row.key))
    try delete.run()
  }

  func forgetAll() throws {
    try connection.statement("DELETE FROM \(table)").run()
  }
}
