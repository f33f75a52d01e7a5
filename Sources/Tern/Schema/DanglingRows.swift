import GRDB

/// How many rows refer to parents that are not there, by what they hold of these: a migration can
/// give tables and columns other names, and rows other numbers.
struct DanglingRows {
  private var counts: [[String]: Int] = [:]
  /// For each, a foreign key by which they do, for people.
  private var names: [[String]: String] = [:]

  var isEmpty: Bool { counts.isEmpty }

  /// - Parameter tables: whose rows are looked at; all where it is `nil`.
  init(
    _ db: Database, in tables: [String]? = nil,
    where isMeant: (_ child: String, _ parent: String) -> Bool = { _, _ in true }
  ) throws {
    // As SQLite finds them, and then by name.
    let select = "SELECT DISTINCT \"table\", parent, fkid FROM pragma_foreign_key_check"
    let broken =
      try tables.map {
        try $0.flatMap { try Row.fetchAll(db, sql: select + "(?, 'main')", arguments: [$0]) }
      } ?? Row.fetchAll(db, sql: select)
    for row in broken {
      let (child, parent): (String, String) = (row[0], row[1])
      guard isMeant(child, parent),
        let key = try DeclaredForeignKey.all(of: child, db).first(where: { $0.id == row["fkid"] })
      else { continue }
      let columns = key.columns.map { name in
        let value = "c.\(name.quoted)"
        return
          "iif(typeof(\(value)) = 'blob', hex(\(value)), CAST(\(value) AS TEXT))"
      }
      let rows = try Row.fetchCursor(
        db,
        sql: "SELECT \(columns.joined(separator: ", ")) FROM main.\(child.quoted) AS c "
          + "WHERE \(key.lacksParent(db))")
      while let row = try rows.next() {
        let values = Array(row.databaseValues.map { String.fromDatabaseValue($0) ?? "" })
        counts[values, default: 0] += 1
        names[values] = "\(child)(\(key.columns.joined(separator: ", "))) to \(parent)"
      }
    }
  }

  /// Whether some are more than there were.
  func isMore(than left: DanglingRows) -> Bool {
    counts.contains { $1 > left.counts[$0] ?? 0 }
  }

  /// - Throws: `DatabaseError` where some are more than there were.
  func check(against left: DanglingRows) throws {
    guard let new = counts.first(where: { $1 > left.counts[$0] ?? 0 }) else { return }
    throw DatabaseError(
      resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
      message: "FOREIGN KEY constraint violation - from \(names[new.key] ?? ""), in a row that had "
        + "its parent before the migration")
  }
}

extension DeclaredForeignKey {
  /// The condition that row `c` refers to a parent which is not there.
  fileprivate func lacksParent(_ db: Database) throws -> String {
    let present = columns.map { "c.\($0.quoted) IS NOT NULL" }.joined(separator: " AND ")
    guard let parentColumns = try parentColumns(db) else { return present }
    // The parent's type alone converts.
    let match = zip(parentColumns, columns).map { "p.\($0.quoted) = +c.\($1.quoted)" }
    return "\(present) AND NOT EXISTS (SELECT 1 FROM main.\(parent.quoted) AS p "
      + "WHERE \(match.joined(separator: " AND ")))"
  }
}
