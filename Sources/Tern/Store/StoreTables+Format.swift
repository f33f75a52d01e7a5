import GRDB

/// Formats of earlier releases, which are read for ever. An opening makes today's of them.
extension StoreTables {
  static let oldestFormat = 5

  /// The tables of a replica in the database, as they are there.
  static func stored(name: String, in db: Database) throws -> StoreTables {
    let tables = StoreTables(name: name)
    guard try db.tableExists(tables.replica, in: "main"),
      let format = try Int.fetchOne(
        db, sql: "SELECT CAST(format AS INTEGER) FROM \(tables.replica)")
    else { return tables }
    return StoreTables(name: name, format: format)
  }

  /// What format 5 has in place of ``waiting``.
  static func waitingOfFormat5(_ prefix: String) -> String {
    """
    (SELECT id, '' AS tbl, '' AS col, first,
      CASE WHEN due_ms IS NULL THEN 'unreadable' ELSE 'clock' END AS reason, reason AS detail,
      due_ms
    FROM \(prefix)aside UNION ALL
    SELECT id, tbl, col, id & \(LogID.sequenceMask), 'schema', '', NULL FROM \(prefix)deferred)
    """
  }

  /// Makes today's format of an earlier one. Statements of ``creation`` ran before.
  func upgrade(_ db: Database, from format: Int) throws {
    if format < 6 {
      // A group of which a part is named too waits whole.
      try db.execute(
        sql:
          "INSERT OR IGNORE INTO \(waiting) SELECT id, tbl, col, first, reason, detail, due_ms FROM "
          + Self.waitingOfFormat5(prefix) + " ORDER BY reason = 'schema'")
      for name in ["aside", "deferred"] { try db.execute(sql: "DROP TABLE main.\(prefix)\(name)") }
    }
    try db.execute(sql: "UPDATE \(replica) SET format = \(Self.format)")
  }
}
