import GRDB
import TernDatabase

/// Looks for rows whose parents are not there, by the foreign keys that name something.
///
/// SQLite takes one to a table or to columns that do not exist, and lets it be while foreign
/// keys are off.
struct ReferenceDoctor {
  private let db: Database
  private let findings: Findings

  init(_ db: Database, _ findings: Findings) {
    (self.db, self.findings) = (db, findings)
  }

  func check(_ table: String) throws {
    let declared = try DeclaredForeignKey.all(of: table, db)
    let known = try declared.compactMap { key in
      try key.parentColumns(db).map { (key: key, parentColumns: $0) }
    }
    if known.isEmpty { return }
    if try checkBySQLite(table, Set(known.map(\.key.id))) { return }
    for (key, parentColumns) in known { try check(table, key, parentColumns) }
  }

  /// - Returns: `false` where SQLite looks at none of the table's foreign keys, because one of them
  ///   is to what it does not find.
  private func checkBySQLite(_ table: String, _ known: Set<Int>) throws -> Bool {
    do {
      let rows = try Row.fetchCursor(
        db, sql: "SELECT * FROM pragma_foreign_key_check(?, 'main')", arguments: [table])
      while let row = try rows.next() {
        if known.contains(row["fkid"]) { try add(table, row["parent"], row["rowid"]) }
      }
      return true
    } catch let error as DatabaseError
      where error.message?.hasPrefix("foreign key mismatch") ?? false
    {
      return false
    }
  }

  private func check(_ table: String, _ key: DeclaredForeignKey, _ parentColumns: [String]) throws {
    let present = key.columns.map { "c.\($0.quoted) IS NOT NULL" }
    // The parent's type alone converts.
    let match = zip(parentColumns, key.columns).map { "p.\($0.quoted) = +c.\($1.quoted)" }
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT 1 FROM main.\(table.quoted) AS c WHERE \(present.joined(separator: " AND "))
        AND NOT EXISTS (
          SELECT 1 FROM main.\(key.parent.quoted) AS p WHERE \(match.joined(separator: " AND ")))
        """)
    while try rows.next() != nil { try add(table, key.parent, nil) }
  }

  private func add(_ table: String, _ parent: String, _ rowID: Int64?) throws {
    let rowID = rowID.map { " \($0)" } ?? ""
    try findings.add(
      .references, "row\(rowID) refers to a row of \(parent) that is not there",
      at: .init(table: table))
  }
}
