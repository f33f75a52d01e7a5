import GRDB

/// How much of a file the tables take whose names begin with a prefix.
package struct TableSizes {
  let db: Database
  let prefix: String

  package init(db: Database, prefix: String) {
    self.db = db
    self.prefix = prefix
  }

  /// The largest first.
  package func all() throws -> [ReplicaInspection.Storage] {
    let sizes = try hasPageCounts() ? pageSizes() : valueSizes()
    return sizes.sorted { ($1.bytes, $0.table) < ($0.bytes, $1.table) }
  }

  /// Not every build of SQLite has the table `dbstat`.
  private func hasPageCounts() throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT sqlite_compileoption_used('ENABLE_DBSTAT_VTAB')") ?? false
  }

  private func pageSizes() throws -> [ReplicaInspection.Storage] {
    try Row.fetchAll(
      db,
      sql: """
        SELECT m.tbl_name, sum(s.pgsize) FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name
        WHERE s.aggregate = TRUE AND substr(m.tbl_name, 1, ?) = ? GROUP BY m.tbl_name
        """, arguments: [prefix.utf8.count, prefix]
    ).map { .init(table: $0[0], bytes: $0[1]) }
  }

  private func valueSizes() throws -> [ReplicaInspection.Storage] {
    try db.names(of: "table", prefix: prefix).map { name in
      let lengths = try db.columns(in: name).map { "length(CAST(\($0.name.quoted) AS BLOB))" }
      let sum = lengths.map { "ifnull(\($0), 0)" }.joined(separator: " + ")
      let bytes = try Int64.fetchOne(db, sql: "SELECT ifnull(sum(\(sum)), 0) FROM \(name.quoted)")
      return .init(table: name, bytes: bytes ?? 0)
    }
  }
}
