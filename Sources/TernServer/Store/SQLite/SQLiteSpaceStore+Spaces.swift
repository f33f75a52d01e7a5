#if Server
import GRDB
import TernCore

extension SQLiteSpaceStore {
  public func spaces() throws -> [SpaceName] {
    try pool.read { db in
      try String.fetchAll(db, sql: "SELECT name FROM space ORDER BY name")
        .map { SpaceName(stored: $0) }
    }
  }

  /// The file does not get smaller, and its free pages hold old bytes until they are used again.
  public func removeSpace(_ space: SpaceName) throws -> Bool {
    try pool.writeWithoutTransaction { db in
      var isThere = false
      try db.inTransaction(.immediate) {
        // Its id alone: a space whose numbers are damaged can be removed.
        if let id = try Int64.fetchOne(
          db, sql: "SELECT id FROM space WHERE name = ?", arguments: [space.text])
        {
          isThere = true
          for sql in Self.removals { try db.execute(sql: sql, arguments: [id]) }
        }
        return .commit
      }
      return isThere
    }
  }

  /// What refers to others goes before them.
  private static let removals =
    [
      "DELETE FROM snapshot_part WHERE snapshot IN (SELECT id FROM snapshot WHERE space = ?)"
    ]
    + ["snapshot", "operation", "head", "token", "lease", "mark", "state"].map {
      "DELETE FROM \($0) WHERE space = ?"
    } + ["DELETE FROM space WHERE id = ?"]
}
#endif
