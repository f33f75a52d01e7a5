#if Server
import GRDB
import TernCore

extension SQLiteSpaceStore {
  public func spaces() throws -> [SpaceName] {
    try pool.read { db in
      try String.fetchAll(
        db, sql: "SELECT name FROM space WHERE NOT \(RemovedSpace.condition) ORDER BY name"
      ).map { SpaceName(stored: $0) }
    }
  }

  /// The file does not get smaller, and its free pages hold old bytes until they are used again.
  public func removeSpace(
    _ space: SpaceName, recording entry: AuditEntry?, keeping records: Int
  ) throws -> Bool {
    try writing { db in
      // Its id alone: a space whose numbers are damaged can be removed.
      guard
        let id = try Int64.fetchOne(
          db, sql: "SELECT id FROM space WHERE name = ?", arguments: [space.text])
      else { return false }
      try db.execute(sql: "DELETE FROM token WHERE space = ?", arguments: [id])
      try db.execute(
        sql: "UPDATE space SET name = ? WHERE id = ?", arguments: [RemovedSpace.name(of: id), id])
      if let entry { try SQLiteAuditRows(db: db).add(entry, keeping: records) }
      return true
    }
  }

  public func removeRemains(rows: Int, contentBytes: Int) throws -> Bool {
    try writing { db in
      guard
        let id = try Int64.fetchOne(
          db, sql: "SELECT id FROM space WHERE \(RemovedSpace.condition) LIMIT 1")
      else { return false }
      for content in Self.contents
      where try Self.removeSome(content, of: id, db, rows: rows, contentBytes: contentBytes) {
        return true
      }
      for table in ["token", "head", "author", "lease", "mark", "trim_mark", "snapshot", "state"] {
        let key = [
          "token": "digest", "head": "author", "author": "replica", "lease": "replica",
          "mark": "position", "trim_mark": "position",
        ]
        let column = key[table] ?? "rowid"
        try db.execute(
          sql: """
            DELETE FROM \(table) WHERE space = ?1
              AND \(column) IN (SELECT \(column) FROM \(table) WHERE space = ?1 LIMIT ?2)
            """, arguments: [id, rows])
        if db.changesCount > 0 { return true }
      }
      try db.execute(sql: "DELETE FROM space WHERE id = ?", arguments: [id])
      return true
    }
  }

  /// What refers to others goes before them.
  private static let contents = [
    (
      table: "snapshot_part",
      condition: "snapshot IN (SELECT id FROM snapshot WHERE space = ?)"
    ), (table: "operation", condition: "space = ?"),
  ]

  /// Returns whether there was something.
  private static func removeSome(
    _ content: (table: String, condition: String), of space: Int64, _ db: Database, rows: Int,
    contentBytes: Int
  ) throws -> Bool {
    let found = try Row.fetchCursor(
      db,
      sql: "SELECT id, length(bytes) FROM \(content.table) WHERE \(content.condition) LIMIT ?",
      arguments: [space, rows])
    var (removed, total): ([Int64], Int) = ([], 0)
    while let row = try found.next() {
      total += row[1] as Int
      if total > contentBytes, !removed.isEmpty { break }
      removed.append(row[0])
    }
    let delete = try db.cachedStatement(sql: "DELETE FROM \(content.table) WHERE id = ?")
    for id in removed { try delete.execute(arguments: [id]) }
    return !removed.isEmpty
  }

  /// Runs a transaction that removes. Where the disk is full it has the room of the reserve file.
  ///
  /// Pages that it frees are not written over, as SQLite does by itself on some systems: they would
  /// all stand in the log, for which a full disk has no room.
  private func writing(_ body: (Database) throws -> Bool) throws -> Bool {
    try Self.retryingWithReserve(pool.path) {
      try pool.writeWithoutTransaction { db in
        let before = try Int.fetchOne(db, sql: "PRAGMA secure_delete") ?? 0
        _ = try Int.fetchOne(db, sql: "PRAGMA secure_delete = FAST")
        // Only what it removes later is concerned.
        let setting = before == 2 ? "FAST" : "\(before)"
        defer { _ = try? Int.fetchOne(db, sql: "PRAGMA secure_delete = \(setting)") }
        var answer = false
        try db.inTransaction(.immediate) {
          answer = try body(db)
          return .commit
        }
        return answer
      }
    }
  }

  // MARK: - Shares

  public func usage(of space: SpaceName) throws -> SpaceUsage {
    try read(space) { try SpaceUsage.fetch($0, where: "name = ?", [space.text]) ?? SpaceUsage() }
  }

  public func spaceKeepingMost() throws -> SpaceName? {
    try pool.read { db in
      try String.fetchOne(
        db,
        sql: """
          SELECT name FROM space WHERE kept_bytes > 0 AND NOT \(RemovedSpace.condition)
          ORDER BY kept_bytes DESC, name LIMIT 1
          """
      ).map { SpaceName(stored: $0) }
    }
  }

  public func reusableBytes() throws -> Int {
    try pool.read { db in
      let pages = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
      return pages * (try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
    }
  }

  public func statistics() throws -> StoreStatistics {
    try pool.read { db in
      let row = try Row.fetchOne(
        db,
        sql: """
          SELECT count(*), total(bytes), total(kept_bytes) FROM space
          WHERE NOT \(RemovedSpace.condition)
          """)
      guard let row else { fatalError("a count has a row") }
      // As doubles, which a damaged space's numbers don't make overflow.
      func bytes(_ column: Int) -> Int { Int(exactly: (row[column] as Double).rounded()) ?? 0 }
      return StoreStatistics(spaces: row[0], bytes: bytes(1), keptBytes: bytes(2))
    }
  }
}

extension SpaceUsage {
  static func fetch(_ db: Database, where condition: String, _ arguments: StatementArguments) throws
    -> SpaceUsage?
  {
    let statement = try db.cachedStatement(
      sql: """
        SELECT (SELECT \(StoredNumber.position.sum("operations")) FROM head WHERE space = space.id),
          bytes, quota_bytes, quota_operations, quota_authors, quota_share, kept_bytes, id
        FROM space
        WHERE \(condition)
        """)
    guard let row = try Row.fetchOne(statement, arguments: arguments) else { return nil }
    let table = "space"
    func quota(_ index: Int, _ number: StoredNumber) throws -> Int? {
      row.hasNull(atIndex: index) ? nil : Int(try row.number(index, number, of: table))
    }
    var usage = SpaceUsage(
      bytes: Int(try row.number(1, .bytes, of: table)),
      operations: Int(try row.number(0, .position, of: "head")),
      quota: SpaceQuota(
        bytes: try quota(2, .bytes), operations: try quota(3, .position),
        authors: try quota(4, .position), share: try quota(5, .share)))
    usage.keptBytes = Int(try row.number(6, .bytes, of: table))
    usage.banned = try CountedOperations.fetchBanned(db, space: row[7])
    return usage
  }
}

extension SQLiteSpaceTransaction {
  var usage: SpaceUsage {
    get throws {
      guard let usage = try SpaceUsage.fetch(db, where: "id = ?", [id]) else {
        fatalError("a transaction has its space")
      }
      return usage
    }
  }

  func set(_ quota: SpaceQuota) throws {
    try db.execute(
      sql: """
        UPDATE space SET quota_bytes = ?, quota_operations = ?, quota_authors = ?, quota_share = ?
        WHERE id = ?
        """, arguments: [quota.bytes, quota.operations, quota.authors, quota.share, id])
  }
}
#endif
