import GRDB
import TernCore
import TernDatabase

/// Builds every table of a plan again, with identifiers in place of numbers.
struct RekeyPass {
  let db: Database
  let plan: RekeyPlan
  let identifiers: RekeyIdentifiers

  init(_ db: Database, _ plan: RekeyPlan, _ identifiers: RekeyIdentifiers) {
    (self.db, self.plan, self.identifiers) = (db, plan, identifiers)
  }

  func run() throws -> RekeyReport {
    let map = RekeyMap(db: db, plan: plan)
    let rows = try map.fill(identifiers)
    for (table, column) in columns where !isRootKey(table, column) {
      try map.checkMissing(table, column)
    }
    for table in plan.tables {
      try TableRebuild(db: db, plan: plan, table: table).run()
    }
    try map.drop()
    for table in plan.tables { try checkForeignKeys(of: table) }
    let key = plan.addedKey.map { [RekeyedColumn(plan.root.name, $0)] } ?? []
    return RekeyReport(
      rows: rows, columns: key + columns.map { RekeyedColumn($0.table.name, $0.column) })
  }

  /// The key first.
  private var columns: [(table: RekeyedTable, column: String)] {
    let all = plan.tables.flatMap { table in
      table.columns.filter { plan.isRewritten(table, $0.name) }.map { (table, $0.name) }
    }
    return all.filter { isRootKey($0.0, $0.1) } + all.filter { !isRootKey($0.0, $0.1) }
  }

  private func isRootKey(_ table: RekeyedTable, _ column: String) -> Bool {
    table.name == plan.root.name && column == plan.key?.name
  }

  private func checkForeignKeys(of table: RekeyedTable) throws {
    let violations = try Row.fetchAll(
      db, sql: "SELECT DISTINCT parent, fkid FROM pragma_foreign_key_check(?, 'main')",
      arguments: [table.name])
    for violation in violations {
      let columns = try String.fetchAll(
        db, sql: #"SELECT "from" FROM pragma_foreign_key_list(?, 'main') WHERE id = ?"#,
        arguments: [table.name, violation["fkid"] as Int])
      guard let column = columns.first(where: { plan.isRewritten(table, $0) }) else { continue }
      throw RekeyError(
        .missingRow, table: table.name, column: column,
        "rows refer to rows of “\(violation["parent"] as String)” that are not there; delete them or "
          + "set the column to NULL first")
    }
  }
}
