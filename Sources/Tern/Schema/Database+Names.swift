import GRDB
import TernCore
import TernDatabase

/// What stands in the database under names that begin alike, as Tern's own do.
extension Database {
  /// - Parameter type: as `sqlite_master` has it; `nil` for all.
  func names(of type: String? = nil, prefix: String) throws -> [String] {
    try String.fetchAll(
      self,
      sql: """
        SELECT name FROM main.sqlite_master WHERE substr(name, 1, ?1) = ?2 AND type = ifnull(?3, type)
        """, arguments: [prefix.utf8.count, prefix, type])
  }

  /// Not as GRDB remembers it, which a rollback leaves as it was.
  func hasTable(_ name: String) throws -> Bool {
    try names(of: "table", prefix: name).contains(name)
  }

  /// Tables of the database and temporary ones that observers can be told of: GRDB cannot look up
  /// one with a quote in its name.
  func observableTables() throws -> [String] {
    try String.fetchAll(
      self,
      sql: """
        SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE '%"%'
        UNION SELECT name FROM temp.sqlite_temp_master WHERE type = 'table' AND name NOT LIKE '%"%'
        """)
  }

  /// Whether a column holds the same of every row that says nothing of it.
  func hasLiteralDefault(_ column: String, in table: String) throws -> Bool {
    let declared = try String.fetchOne(
      self, sql: "SELECT dflt_value FROM pragma_table_xinfo(?, 'main') WHERE name = ?",
      arguments: [table, column])
    let tokens = SQLText(declared ?? "NULL").tokens.drop { $0.isSymbol("-") || $0.isSymbol("+") }
    return tokens.count == 1 && !tokens.first!.text.folded.hasPrefix("current_")
  }

  /// What a column holds of a row that says nothing of it.
  func declaredDefault(of column: String, in table: String) throws -> SQLiteValue {
    let declared = try String.fetchOne(
      self, sql: "SELECT dflt_value FROM pragma_table_xinfo(?, 'main') WHERE name = ?",
      arguments: [table, column])
    guard let declared else { return .null }
    // Behind DEFAULT a name is a text, and anywhere else that of a column.
    let tokens = SQLText(declared).tokens
    if tokens.count == 1, tokens[0].isName { return .string(tokens[0].name) }
    let value = try FastStatement(self, "SELECT (\(declared))")
    return try value.first { value.value(0).value ?? .null } ?? .null
  }

  /// Name and SQL of each, in the schema's order.
  func triggers(prefix: String) throws -> [(String, String)] {
    try Row.fetchAll(
      self,
      sql: """
        SELECT name, ifnull(sql, '') FROM main.sqlite_master
        WHERE substr(name, 1, ?) = ? AND type = 'trigger' ORDER BY rowid
        """, arguments: [prefix.utf8.count, prefix]
    ).map { ($0[0], $0[1]) }
  }
}
