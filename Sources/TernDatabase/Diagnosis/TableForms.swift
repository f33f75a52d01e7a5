import GRDB

/// Compares Tern's own tables with those that its statements would make, and what stands in them with
/// the types that they declare: whoever reads them next can rely on both.
package struct TableForms {
  private let findings: Findings

  package init(_ findings: Findings) {
    self.findings = findings
  }

  private struct Column: Hashable {
    let name: String
    let type: String
    let isNotNull: Bool
    let keyIndex: Int
  }

  /// - Returns: whether all is as it should be.
  package func check(_ creation: [String], in db: Database) throws -> Bool {
    var isWhole = true
    for (table, columns) in try Self.columns(creation).sorted(by: { $0.key < $1.key }) {
      let present = try Self.columns(of: table, db)
      if present != columns {
        isWhole = false
        try findings.add(
          .storeTable,
          present.isEmpty ? "Tern's table is gone" : "Tern's table has other columns",
          at: .init(table: table))
        continue
      }
      for column in columns where try holdsOther(column, table, db) {
        isWhole = false
        try findings.add(
          .storeTable, "a value in Tern's table is of another type than \(column.type)",
          at: .init(table: table, column: column.name))
      }
    }
    return isWhole
  }

  private func holdsOther(_ column: Column, _ table: String, _ db: Database) throws -> Bool {
    guard ["INTEGER", "TEXT", "BLOB"].contains(column.type) else { return false }
    let name = "\"\(column.name)\""
    return try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM "\(table)" WHERE typeof(\(name)) <> '\(column.type.lowercased())'
        \(column.isNotNull ? "" : "AND \(name) IS NOT NULL"))
        """)!
  }

  private static func columns(_ creation: [String]) throws -> [String: Set<Column>] {
    try DatabaseQueue().write { db in
      for statement in creation { try db.execute(sql: statement) }
      let names = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'grdb_*'")
      return Dictionary(
        uniqueKeysWithValues: try names.map { ($0, try columns(of: $0, db)) })
    }
  }

  private static func columns(of table: String, _ db: Database) throws -> Set<Column> {
    let rows = try Row.fetchAll(
      db, sql: "SELECT * FROM pragma_table_info(?, 'main')", arguments: [table])
    return Set(
      rows.map {
        Column(name: $0["name"], type: $0["type"], isNotNull: $0["notnull"], keyIndex: $0["pk"])
      })
  }
}
