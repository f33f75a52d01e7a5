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
        if let row = try SpaceRow.fetch(db, name: space) {
          isThere = true
          for sql in Self.removals { try db.execute(sql: sql, arguments: [row.id]) }
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
