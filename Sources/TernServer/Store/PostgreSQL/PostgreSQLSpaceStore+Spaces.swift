#if PostgreSQL
import Foundation
import TernCore

extension PostgreSQLSpaceStore {
  // MARK: - Reading

  public func summary(of space: SpaceName) throws -> SpaceSummary {
    try read(space) { db in
      guard let row = try SpacePlace.fetch(db, schema, space, epoch) else {
        return SpaceSummary(standing: SpaceStanding(epoch: epoch))
      }
      var heads = VersionVector()
      var newestTime = HybridTime.zero
      let authors = try db.run(
        "SELECT author, sequence, time FROM \(schema("head")) WHERE space = $1",
        [.integer(row.id)])
      for index in 0..<authors.count {
        let author = authors[index]
        heads[try author.replica(0)] = UInt64(try author.number(1, .sequence, of: "head"))
        newestTime = max(newestTime, HybridTime(rawValue: UInt64(bitPattern: author.integer(2))))
      }
      let newest = try StoredSnapshot.fetchNewest(db, schema, space: row.id)
      let held = try newest.map {
        try SnapshotHeads.fetch(db, schema, space: row.id, snapshot: $0.id)
      }
      return SpaceSummary(
        standing: row.standing, position: row.position, heads: heads, trimmed: row.trimmed,
        snapshot: newest,
        snapshotHeads: VersionVector((held ?? [:]).mapValues(\.sequence)),
        refused: try StoredSnapshot.fetchRefused(db, schema, space: row.id),
        state: try StoredState.fetch(db, schema, space: row.id, head: row.position),
        newestTime: newestTime, suspended: row.suspended)
    }
  }

  public func standing(of space: SpaceName) throws -> SpaceStanding? {
    try naming(space) {
      try run(
        "SELECT \(SpacePhase.columns) FROM \(schema("space")) WHERE name = $1", [.text(space.text)]
      ).first?.standing(0, epoch)
    }
  }

  public func position(of space: SpaceName) throws -> UInt64 {
    try naming(space) {
      try run("SELECT position FROM \(schema("space")) WHERE name = $1", [.text(space.text)])
        .first?.position(0, of: "space") ?? 0
    }
  }

  public func heads(of spaces: [SpaceName]) throws -> [SpaceName: SpaceHead] {
    let rows = try run(
      """
      SELECT name, space.position, chain, \(DatabaseClock.now),
        \(PostgreSQLStanding.timeline)
      FROM \(schema("space")) AS space
      LEFT JOIN \(schema("operation")) AS operation
        ON operation.space = space.id AND operation.position = space.position
      WHERE name = ANY($1) AND \(SpacePhase.isRead)
      """, [.texts(spaces.map(\.text))])
    // A pool between may have gone over to another server without a new connection here.
    if let first = rows.first {
      databaseClock.note(first.integer(3))
      try newestTimeline.note(UInt64(first.integer(4)))
    }
    var heads: [SpaceName: SpaceHead] = [:]
    for row in rows.map({ $0 }) {
      // Whoever asks for the space is told what is wrong with it.
      guard let position = try? row.position(1, of: "space") else { continue }
      heads[SpaceName(stored: row.text(0)!)] = SpaceHead(
        position: position, chain: row.bytes(2).map { ChainDigest(stored: $0) })
    }
    return heads
  }

  public func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) throws -> StoredPage {
    try read(space) { db in
      guard let row = try SpacePlace.fetch(db, schema, space, epoch) else {
        return StoredPage(standing: SpaceStanding(epoch: epoch), head: 0)
      }
      var page = StoredPage(
        standing: row.standing, head: row.position, trimmed: row.trimmed, end: position)
      guard let after = Int64(exactly: position), position <= row.position else { return page }
      page.chainBefore = try ChainDigest.fetch(db, schema, space: row.id, at: position)
      // Who needs the snapshot is given nothing else.
      guard position >= row.trimmed else { return page }
      // Up to where the bytes before a row are within the limit, so that no more of them are read.
      let rows = try db.run(
        """
        SELECT position, chain, is_base::int::bigint, is_shown::int::bigint,
          CASE WHEN is_shown THEN bytes END
        FROM (
          SELECT *, sum(length) OVER (ORDER BY position) - length AS before FROM (
            SELECT position, chain, sequence < 0 AND author = $4 AS is_base,
              sequence > 0 AND author IS DISTINCT FROM $3 AS is_shown, bytes,
              CASE WHEN sequence > 0 AND author IS DISTINCT FROM $3
                THEN coalesce(length(bytes), 0) ELSE 0 END AS length
            FROM \(schema("operation")) LEFT JOIN \(schema("operation_bytes")) USING (space, position)
            WHERE space = $1 AND position > $2 ORDER BY position LIMIT $5
          ) AS found
        ) AS counted
        WHERE before <= $6 ORDER BY position
        """,
        [
          .integer(row.id), .integer(after), .bytes(excluded?.bytes),
          .bytes(ReplicaID.ofBases.bytes), .integer(operations), .integer(contentBytes),
        ])
      var total = 0
      for index in 0..<rows.count {
        let row = rows[index]
        if row.flag(2) {
          page.endsBeforeBase = true
          break
        }
        if row.flag(3) {
          guard let bytes = row.bytes(4) else {
            throw StoreError(
              .damaged,
              "space \(space): the operation at \(row.integer(0)) has lost its bytes; restore the "
                + "database from a backup")
          }
          total += bytes.count
          if total > contentBytes, !page.operations.isEmpty { break }
          page.operations.append(bytes)
        }
        page.end = try row.position(0, of: "operation")
        page.lastChain = row.bytes(1).map { ChainDigest(stored: $0) }
      }
      return page
    }
  }

  public func snapshotPart(
    _ index: Int, of id: String, in space: SpaceName, isWhole: Bool
  ) throws -> [UInt8]? {
    try run(
      """
      SELECT part.bytes FROM \(schema("space")) AS space
      JOIN \(schema("snapshot")) AS snapshot ON snapshot.space = space.id
      JOIN \(schema("snapshot_part")) AS part ON part.snapshot = snapshot.id
      WHERE space.name = $1 AND snapshot.name = $2 AND is_complete = $3 AND part = $4
      """, [.text(space.text), .text(id), .integer(isWhole), .integer(index)]
    ).first?.bytes(0)
  }

  // MARK: - Spaces

  public func spaces() throws -> [SpaceName] {
    try run(
      "SELECT name FROM \(schema("space")) WHERE NOT \(RemovedSpace.condition) ORDER BY name"
    ).map { SpaceName(stored: $0.text(0)!) }
  }

  /// Its rows go with ``removeRemains(rows:contentBytes:)``.
  public func removeSpace(
    _ space: SpaceName, recording entry: AuditEntry?, keeping records: Int
  ) throws -> Bool {
    try write { db in
      // Its id alone: a space whose numbers are damaged can be removed.
      let row = try db.run(
        "SELECT id FROM \(schema("space")) WHERE name = $1 FOR UPDATE", [.text(space.text)])
      guard let id = row.first?.integer(0) else { return false }
      db.queue("DELETE FROM \(schema("token")) WHERE space = $1", [.integer(id)])
      db.queue(
        "UPDATE \(schema("space")) SET name = $2 WHERE id = $1",
        [.integer(id), .text(RemovedSpace.name(of: id))])
      if let entry { PostgreSQLAuditRows(db: db, schema: schema).add(entry, keeping: records) }
      return true
    }
  }

  public func removeRemains(rows: Int, contentBytes: Int) throws -> Bool {
    try write { db in
      // Another process that removes takes another one.
      let found = try db.run(
        """
        SELECT id FROM \(schema("space")) WHERE \(RemovedSpace.condition) LIMIT 1
        FOR UPDATE SKIP LOCKED
        """)
      guard let id = found.first?.integer(0) else { return false }
      for content in [
        ("snapshot_part", "snapshot IN (SELECT id FROM \(schema("snapshot")) WHERE space = $1)"),
        ("operation_bytes", "space = $1"),
      ]
      where try removeSome(content, of: id, db, rows: rows, contentBytes: contentBytes) {
        return true
      }
      for table in [
        "operation", "token", "head", "author", "lease", "mark", "trim_mark", "snapshot", "state",
      ] {
        let gone = try db.change(
          """
          DELETE FROM \(schema(table))
          WHERE ctid = ANY(ARRAY(SELECT ctid FROM \(schema(table)) WHERE space = $1 LIMIT $2))
          """, [.integer(id), .integer(rows)])
        if gone.changed > 0 { return true }
      }
      db.queue("DELETE FROM \(schema("space")) WHERE id = $1", [.integer(id)])
      return true
    }
  }

  /// Returns whether there was something.
  private func removeSome(
    _ content: (table: String, condition: String), of space: Int64, _ db: PostgreSQLConnection,
    rows: Int, contentBytes: Int
  ) throws -> Bool {
    try db.change(
      """
      WITH found AS (
        SELECT ctid, length(bytes) AS length FROM \(schema(content.table))
        WHERE \(content.condition) LIMIT $2
      ), counted AS (
        SELECT ctid, row_number() OVER (ORDER BY ctid) AS number,
          sum(length) OVER (ORDER BY ctid) AS total
        FROM found
      )
      DELETE FROM \(schema(content.table)) WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM counted WHERE number = 1 OR total <= $3))
      """, [.integer(space), .integer(rows), .integer(contentBytes)]
    ).changed > 0
  }

  public func usage(of space: SpaceName) throws -> SpaceUsage {
    try read(space) {
      try SpaceUsage.fetch($0, schema, where: "name = $1", [.text(space.text)]) ?? SpaceUsage()
    }
  }

  public func spaceKeepingMost() throws -> SpaceName? {
    try run(
      """
      SELECT name FROM \(schema("space")) WHERE kept_bytes > 0 AND NOT \(RemovedSpace.condition)
      ORDER BY kept_bytes DESC, name LIMIT 1
      """
    ).first?.text(0).map { SpaceName(stored: $0) }
  }

  /// The database's disk is not this machine's.
  public func reusableBytes() -> Int { 0 }

  // MARK: - Tokens

  private var selectTokens: String {
    """
    SELECT \(TokenRecord.columns)
    FROM \(schema("token")) AS token JOIN \(schema("space")) AS space ON space.id = token.space
    """
  }

  public func token(_ digest: TokenDigest) throws -> TokenRecord? {
    try run("\(selectTokens) WHERE token.digest = $1", [.bytes(digest.bytes)])
      .first.map { TokenRecord($0) }
  }

  public func tokens(of digests: [TokenDigest]) throws -> [TokenRecord] {
    try run("\(selectTokens) WHERE token.digest = ANY($1)", [.byteStrings(digests.map(\.bytes))])
      .map { TokenRecord($0) }
  }

  public func tokens() throws -> [TokenRecord] {
    try run("\(selectTokens) ORDER BY token.created_ms, token.digest").map { TokenRecord($0) }
  }
}

/// A space's row, as far as reading it goes.
private struct SpacePlace {
  let id: Int64
  let position: UInt64
  let trimmed: UInt64
  let suspended: Date?
  let standing: SpaceStanding

  /// - Parameter epoch: the store's.
  static func fetch(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, _ space: SpaceName, _ epoch: String
  ) throws -> SpacePlace? {
    try db.run(
      """
      SELECT id, position, trimmed, suspended_ms, \(SpacePhase.columns) FROM \(schema("space"))
      WHERE name = $1
      """, [.text(space.text)]
    ).first.map {
      SpacePlace(
        id: $0.integer(0), position: try $0.position(1, of: "space"),
        trimmed: try $0.position(2, of: "space"),
        suspended: $0.isNull(3) ? nil : try $0.time(3, of: "space"),
        standing: try $0.standing(4, epoch))
    }
  }
}

extension PostgreSQLRow {
  /// What ``SpacePhase/columns`` say, from a column on.
  ///
  /// - Parameter epoch: the store's.
  func standing(_ column: Int, _ epoch: String) throws -> SpaceStanding {
    let phase = try number(column + 1, .phase, of: "space")
    return SpaceStanding(
      epoch: text(column) ?? epoch, phase: SpacePhase(rawValue: Int(phase))!,
      peer: text(column + 2))
  }
}

extension SpaceUsage {
  static func fetch(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, where condition: String,
    _ values: [PostgreSQLValue]
  ) throws -> SpaceUsage? {
    guard
      let row = try db.run(
        """
        SELECT \(columns), (SELECT \(StoredNumber.position.sum("operations"))::bigint
            FROM \(schema("head")) AS head WHERE head.space = space.id), id
        FROM \(schema("space")) AS space WHERE \(condition)
        """, values
      ).first
    else { return nil }
    var usage = try SpaceUsage(
      row, from: 0, operations: Int(row.number(6, .position, of: "head")))
    usage.banned = try CountedOperations.fetchBanned(db, schema, space: row.integer(7))
    return usage
  }

  static let columns =
    "bytes, quota_bytes, quota_operations, quota_authors, quota_share, kept_bytes"

  init(_ row: PostgreSQLRow, from first: Int, operations: Int) throws {
    let table = "space"
    func quota(_ column: Int, _ number: StoredNumber) throws -> Int? {
      row.isNull(first + column) ? nil : Int(try row.number(first + column, number, of: table))
    }
    self.init(
      bytes: Int(try row.number(first, .bytes, of: table)), operations: operations,
      quota: SpaceQuota(
        bytes: try quota(1, .bytes), operations: try quota(2, .position),
        authors: try quota(3, .position), share: try quota(4, .share)))
    keptBytes = Int(try row.number(first + 5, .bytes, of: table))
  }
}

extension TokenRecord {
  /// - Parameter row: its ``columns``.
  init(_ row: PostgreSQLRow) {
    self.init(
      digest: TokenDigest(stored: row.bytes(0)!), space: SpaceName(stored: row.text(1)!),
      member: row.text(3).map { MemberName(stored: $0) },
      label: row.text(4).map { TokenLabel(stored: $0) },
      created: Date(milliseconds: row.integer(2)),
      expires: row.isNull(5) ? nil : Date(milliseconds: row.integer(5)))
    // One out of range is told by whatever reads the space.
    phase = SpacePhase(rawValue: Int(row.integer(6))) ?? .served
  }
}
#endif
