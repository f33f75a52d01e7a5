import Foundation
import GRDB
import TernCore
import TernDatabase

/// Which identifier stands for which number: a temporary table while a table is re-keyed.
struct RekeyMap {
  static let name = "temp.\(StoreTables.commonPrefix)rekey_map"

  let db: Database
  let plan: RekeyPlan

  /// SQL of the identifier for a number.
  static func identifier(for number: String) -> String {
    "(SELECT identifier FROM \(name) WHERE number = \(number))"
  }

  /// The number of a row, in SQL.
  private var number: String {
    plan.key?.name.quoted ?? plan.root.rowIDName!
  }

  /// Gives each row of the table an identifier.
  ///
  /// - Returns: how many rows there are.
  func fill(_ identifiers: RekeyIdentifiers) throws -> Int {
    try checkNumbers()
    let select = try selection(identifiers.derivation)
    try db.execute(
      sql: "CREATE TEMP TABLE \(Self.name.dropFirst("temp.".count)) "
        + "(number INTEGER PRIMARY KEY, identifier NOT NULL UNIQUE)")
    let insert = try db.makeStatement(sql: "INSERT INTO \(Self.name) VALUES (?, ?)")
    var count = 0
    let rows = try Row.fetchCursor(db, sql: select)
    while let row = try rows.next() {
      let identifier = try identifier(of: row, identifiers)
      try insert.setArguments([row[0], plan.storage.value(identifier)])
      do {
        try insert.execute()
      } catch let error as DatabaseError
        where error.resultCode == .SQLITE_CONSTRAINT && identifiers.derivation != nil
      {
        let columns = identifiers.derivation!.columns.joined(separator: ", ")
        throw RekeyError(
          .sameRow, table: plan.root.name,
          "two rows have the same in \(columns), and would get one key; derive from more columns, or "
            + "make one row of them first")
      }
      count += 1
    }
    return count
  }

  func drop() throws {
    try db.execute(sql: "DROP TABLE \(Self.name)")
  }

  /// Refuses references to rows that are not there: nothing could stand in their place.
  func checkMissing(_ table: RekeyedTable, _ column: String) throws {
    let value = "r.\(column.quoted)"
    let count = try Int.fetchOne(
      db,
      sql: """
        SELECT count(*) FROM main.\(table.name.quoted) AS r WHERE \(value) IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM \(Self.name) WHERE number = \(value))
        """)
    guard let count, count > 0 else { return }
    throw RekeyError(
      .missingRow, table: table.name, column: column,
      "in \(count) rows it refers to rows of “\(plan.root.name)” that are not there; delete these "
        + "rows or set the column to NULL first")
  }

  /// Only an INTEGER PRIMARY KEY never holds anything else.
  private func checkNumbers() throws {
    guard let key = plan.key else { return }
    let count = try Int.fetchOne(
      db,
      sql: """
        SELECT count(*) FROM main.\(plan.root.name.quoted)
        WHERE typeof(\(key.name.quoted)) <> 'integer'
        """)
    guard let count, count > 0 else { return }
    throw RekeyError(
      .notANumber, table: plan.root.name, column: key.name,
      "in \(count) rows the key is NULL or no whole number; give them numbers first")
  }

  private func selection(_ derivation: RekeyIdentifiers.Derivation?) throws -> String {
    var parts = [number]
    if let derivation {
      try check(derivation)
      parts.append(derivation.condition.map { "(\($0)) IS TRUE" } ?? "1")
      parts += derivation.columns.map(\.quoted)
    }
    return "SELECT \(parts.joined(separator: ", ")) FROM main.\(plan.root.name.quoted)"
  }

  private func check(_ derivation: RekeyIdentifiers.Derivation) throws {
    guard !derivation.columns.isEmpty else {
      throw RekeyError(
        .unknownColumn, table: plan.root.name,
        "identifiers are to be derived from no column, and would all be one; name what tells the "
          + "rows apart")
    }
    for name in derivation.columns {
      let isRowID = plan.root.rowIDName?.folded == name.folded
      guard plan.root.column(name) != nil || isRowID else {
        throw RekeyError(
          .unknownColumn, table: plan.root.name, column: name,
          "identifiers are to be derived from it, and the table has no such column; correct the "
            + "name")
      }
      // Its own number is a choice; another row's would be taken for the same on other devices.
      guard !plan.isRewritten(plan.root, name) || name.folded == plan.key?.name.folded else {
        throw RekeyError(
          .unknownColumn, table: plan.root.name, column: name,
          "identifiers are to be derived from it, and it refers to this same table, whose "
            + "identifiers are not known yet; take another column")
      }
    }
  }

  private func identifier(of row: Row, _ identifiers: RekeyIdentifiers) throws -> UUID {
    guard let derivation = identifiers.derivation, row[1] as Bool? ?? false else {
      return identifiers.draw()
    }
    let values = (2..<row.count).map { row[$0] as DatabaseValue }
    for (column, value) in zip(derivation.columns, values) where value.isNull {
      throw RekeyError(
        .unnamedRow, table: plan.root.name, column: column,
        "a row has NULL here, and no identifier can be derived from that; fill it, or leave such "
          + "rows to random identifiers with where: \"\(column) IS NOT NULL\"")
    }
    return derivation.identifier(table: plan.root.name, values)
  }
}
