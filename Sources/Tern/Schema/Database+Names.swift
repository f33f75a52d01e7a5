import GRDB

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
