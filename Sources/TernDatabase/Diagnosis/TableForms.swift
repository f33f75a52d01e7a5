import GRDB
import TernCore

/// Compares Tern's own tables with those that its statements would make, and what stands in them
/// with the types that they declare: whoever reads them next can rely on both.
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

  /// - Parameters:
  ///   - added: by table, columns that a file which was not opened since lacks.
  ///   - addedTables: what such a file lacks as well.
  /// - Returns: whether all is as it should be.
  package func check(
    _ creation: [String], added: [String: Set<String>] = [:], addedTables: Set<String> = [],
    in db: Database
  ) throws -> Bool {
    var isWhole = true
    let all = try Self.columns(db)
    for (table, columns) in try Self.columns(creation).sorted(by: { $0.key < $1.key }) {
      let present = all[table] ?? []
      if present.isEmpty, addedTables.contains(table) { continue }
      let before = columns.filter { !(added[table]?.contains($0.name) ?? false) }
      if present != columns, present != before {
        isWhole = false
        try findings.add(
          .storeTable,
          present.isEmpty ? "Tern's table is gone" : "Tern's table has other columns",
          at: .init(table: table))
        continue
      }
      let typed = present.filter { ["INTEGER", "TEXT", "BLOB"].contains($0.type) }
      // One look at the table where nothing is wrong.
      guard try holdsOther(typed, table, db) else { continue }
      isWhole = false
      for column in typed where try holdsOther([column], table, db) {
        try findings.add(
          .storeTable, "a value in Tern's table is of another type than \(column.type)",
          at: .init(table: table, column: column.name))
      }
    }
    return isWhole
  }

  private func holdsOther(_ columns: Set<Column>, _ table: String, _ db: Database) throws -> Bool {
    let conditions = columns.map { column in
      let types = [column.type.lowercased()] + (column.isNotNull ? [] : ["null"])
      let list = types.map { "'\($0)'" }.joined(separator: ", ")
      return "typeof(\"\(column.name)\") NOT IN (\(list))"
    }
    let condition = conditions.isEmpty ? "0" : conditions.joined(separator: " OR ")
    return try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM \"\(table)\" WHERE \(condition))")!
  }

  private static func columns(_ creation: [String]) throws -> [String: Set<Column>] {
    try DatabaseQueue().write { db in
      for statement in creation { try db.execute(sql: statement) }
      return try columns(db)
    }
  }

  /// Of every table that may be Tern's.
  private static func columns(_ db: Database) throws -> [String: Set<Column>] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT s.name AS "table", c.* FROM main.sqlite_master AS s,
          pragma_table_info(s.name, 'main') AS c
        WHERE s.type = 'table' AND s.name GLOB 'grdb_*'
        """)
    return rows.reduce(into: [:]) { tables, row in
      let column = Column(
        name: row["name"], type: row["type"], isNotNull: row["notnull"], keyIndex: row["pk"])
      tables[row["table"], default: []].insert(column)
    }
  }
}
