import GRDB

/// Everything that a database holds: its schema and every row of every table, Tern's own included.
struct Picture: Equatable, Sendable {
  /// One line a row, by table; the schema's under the empty name.
  private var tables: [String: String] = [:]

  /// - Parameter ignored: columns that are left out, as `table.column`.
  /// - Throws: ``Damaged`` when SQLite's own check finds something.
  init(_ db: Database, without ignored: Set<String> = []) throws {
    let check = try String.fetchAll(db, sql: "PRAGMA integrity_check")
    guard check == ["ok"] else { throw Damaged(findings: check) }
    let columns = try Row.fetchAll(
      db,
      sql: """
        SELECT t.name AS tbl, group_concat('quote("' || c.name || '")', '||'' | ''||') AS line
        FROM main.sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'
          AND instr(?, ' ' || t.name || '.' || c.name || ' ') = 0
        GROUP BY t.name
        """, arguments: [" \(ignored.joined(separator: " ")) "])
    for row in columns {
      let (table, line): (String, String) = (row["tbl"], row["line"])
      tables[table] = try Self.lines(db, "SELECT \(line) AS line FROM main.\"\(table)\"")
    }
    tables[""] = try Self.lines(
      db, "SELECT type || ' ' || name || ' ' || coalesce(sql, '') AS line FROM main.sqlite_master")
  }

  private static func lines(_ db: Database, _ select: String) throws -> String {
    try String.fetchOne(
      db, sql: "SELECT group_concat(line, char(10)) FROM (\(select) ORDER BY 1)") ?? ""
  }

  /// What this picture lacks of another one, and has beyond it, for a failure's text.
  func difference(from other: Picture) -> String {
    var found: [String] = []
    for table in Set(tables.keys).union(other.tables.keys).sorted() {
      let (mine, others) = (rows(of: table), other.rows(of: table))
      found += others.subtracting(mine).sorted().map { "\(table) lacks \($0.prefix(200))" }
      found += mine.subtracting(others).sorted().map { "\(table) has \($0.prefix(200))" }
    }
    return found.prefix(4).joined(separator: "; ") + (found.count > 4 ? "; …" : "")
  }

  private func rows(of table: String) -> Set<Substring> {
    Set((tables[table] ?? "").split(separator: "\n"))
  }

  struct Damaged: Error {
    let findings: [String]
  }
}
