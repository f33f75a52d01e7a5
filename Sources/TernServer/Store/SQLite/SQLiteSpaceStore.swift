#if Server
import Foundation
import GRDB
import TernCore

/// A store in one SQLite file, with every commit on the disk before it returns.
///
/// Several objects, also of several processes, can have one file open.
public final class SQLiteSpaceStore: SpaceStore {
  public let epoch: String
  let pool: DatabasePool
  private let checkpoints: Bool

  init(pool: DatabasePool, epoch: String, checkpoints: Bool) {
    self.pool = pool
    self.epoch = epoch
    self.checkpoints = checkpoints
  }

  /// Ends all access. Where nobody else has the file open, everything is then in the one file, and
  /// copying it is a backup; but for an object that was opened not to checkpoint.
  public func close() throws {
    if checkpoints {
      // By name: the pool's last connection to close is a reader, which can't do it. While another
      // process is in the way the log stays, and is as durable as the file.
      _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }
    try pool.close()
  }

  public func summary(of space: SpaceName) throws -> SpaceSummary {
    try read(space) { db in
      guard let row = try SpaceRow.fetch(db, name: space, epoch) else {
        return SpaceSummary(standing: SpaceStanding(epoch: epoch))
      }
      let statement = try db.cachedStatement(
        sql: "SELECT author, sequence, time FROM head WHERE space = ?")
      var heads = VersionVector()
      var newestTime = HybridTime.zero
      let rows = try Row.fetchCursor(statement, arguments: [row.id])
      while let row = try rows.next() {
        heads[try ReplicaID(stored: row[0])] = UInt64(
          try row.number(1, .sequence, of: "head"))
        newestTime = max(newestTime, HybridTime(rawValue: UInt64(bitPattern: row[2] as Int64)))
      }
      let newest = try StoredSnapshot.fetchNewest(db, space: row.id)
      let held = try newest.map { try SnapshotHeads.fetch(db, space: row.id, snapshot: $0.id) }
      return SpaceSummary(
        standing: row.standing, position: row.position, heads: heads, trimmed: row.trimmed,
        snapshot: newest,
        snapshotHeads: VersionVector((held ?? [:]).mapValues(\.sequence)),
        refused: try StoredSnapshot.fetchRefused(db, space: row.id),
        state: try StoredState.fetch(db, space: row.id, head: row.position),
        newestTime: newestTime, suspended: row.suspended)
    }
  }

  public func standing(of space: SpaceName) throws -> SpaceStanding? {
    try read(space) { try SpaceRow.fetch($0, name: space, epoch)?.standing }
  }

  public func position(of space: SpaceName) throws -> UInt64 {
    try read(space) { try SpaceRow.fetch($0, name: space, epoch)?.position ?? 0 }
  }

  public func heads(of spaces: [SpaceName]) throws -> [SpaceName: SpaceHead] {
    try pool.read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT name, space.position, chain FROM space
          LEFT JOIN operation ON operation.space = space.id
            AND operation.position = space.position
          WHERE name IN (SELECT value FROM json_each(?)) AND \(SpacePhase.isRead)
          """)
      let names = String(decoding: try JSONEncoder().encode(spaces.map(\.text)), as: UTF8.self)
      var heads: [SpaceName: SpaceHead] = [:]
      let rows = try Row.fetchCursor(statement, arguments: [names])
      while let row = try rows.next() {
        // Whoever asks for the space is told what is wrong with it.
        guard let position = try? row.position(1, of: "space") else { continue }
        let chain = row[2] as Data?
        heads[SpaceName(stored: row[0])] = SpaceHead(
          position: position, chain: chain.map { ChainDigest(stored: Array($0)) })
      }
      return heads
    }
  }

  public func page(
    of space: SpaceName, after position: UInt64, excluding excluded: ReplicaID?,
    contentBytes: Int, operations: Int
  ) throws -> StoredPage {
    try read(space) { db in
      guard let row = try SpaceRow.fetch(db, name: space, epoch) else {
        return StoredPage(standing: SpaceStanding(epoch: epoch), head: 0)
      }
      var page = StoredPage(
        standing: row.standing, head: row.position, trimmed: row.trimmed, end: position)
      guard let after = Int64(exactly: position), position <= row.position else { return page }
      page.chainBefore = try ChainDigest.fetch(db, space: row.id, at: position)
      // Who needs the snapshot is given nothing else.
      guard position >= row.trimmed else { return page }
      let statement = try db.cachedStatement(
        sql: """
          SELECT position, chain, sequence < 0 AND author = ?4,
            CASE WHEN author IS NOT ?1 AND sequence > 0 THEN bytes END
          FROM operation WHERE space = ?2 AND position > ?3 ORDER BY position LIMIT ?5
          """)
      var total = 0
      let rows = try Row.fetchCursor(
        statement,
        arguments: [excluded?.data, row.id, after, ReplicaID.ofBases.data, operations])
      while let row = try rows.next() {
        if row[2] as Bool {
          page.endsBeforeBase = true
          break
        }
        if let bytes = row[3] as Data? {
          total += bytes.count
          if total > contentBytes, !page.operations.isEmpty { break }
          page.operations.append(Array(bytes))
        }
        page.end = try row.position(0, of: "operation")
        page.lastChain = ChainDigest(stored: Array(row[1] as Data))
      }
      return page
    }
  }

  public func update<Value: Sendable>(
    _ space: SpaceName, _ body: (any SpaceTransaction) throws -> Value
  ) throws -> Value {
    try updating(space) { try body($0) }
  }

  func updating<Value>(
    _ space: SpaceName, _ body: (SQLiteSpaceTransaction) throws -> Value
  ) throws -> Value {
    try naming(space) {
      try pool.writeWithoutTransaction { db in
        var value: Value?
        // Takes the file's write lock before the head is read; a store on PostgreSQL locks the row.
        try db.inTransaction(.immediate) {
          value = try body(SQLiteSpaceTransaction(db, space: space, epoch))
          return .commit
        }
        guard let value else { fatalError("a committed transaction has a value") }
        return value
      }
    }
  }

  func read<Value>(_ space: SpaceName, _ body: (Database) throws -> Value) throws -> Value {
    try naming(space) { try pool.read(body) }
  }

  /// Names the space whose numbers are out of range.
  private func naming<Value>(_ space: SpaceName, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as NumberOutOfRange {
      throw error.error(in: space)
    }
  }
}

// MARK: - Tokens

extension SQLiteSpaceStore {
  static let selectTokens = """
    SELECT \(TokenRecord.columns) FROM token JOIN space ON space.id = token.space
    """

  public func token(_ digest: TokenDigest) throws -> TokenRecord? {
    try pool.read { db in
      let statement = try db.cachedStatement(sql: Self.selectTokens + " WHERE token.digest = ?")
      return try Row.fetchOne(statement, arguments: [Data(digest.bytes)]).map(TokenRecord.init)
    }
  }

  public func tokens(of digests: [TokenDigest]) throws -> [TokenRecord] {
    guard !digests.isEmpty else { return [] }
    return try pool.read { db in
      // One value holds them all, as a statement has only so many.
      let statement = try db.cachedStatement(
        sql: """
          WITH RECURSIVE wanted (place) AS (
            SELECT 0 UNION ALL SELECT place + 1 FROM wanted WHERE place + 1 < ?2)
          SELECT \(TokenRecord.columns) FROM wanted
          CROSS JOIN token ON token.digest = substr(?1, wanted.place * 32 + 1, 32)
          JOIN space ON space.id = token.space
          """)
      let all = Data(digests.flatMap(\.bytes))
      return try Row.fetchAll(statement, arguments: [all, digests.count]).map(TokenRecord.init)
    }
  }

  public func tokens() throws -> [TokenRecord] {
    try pool.read { db in
      try Row.fetchAll(db, sql: Self.selectTokens + " ORDER BY token.created_ms, token.digest")
        .map(TokenRecord.init)
    }
  }
}

extension TokenRecord {
  /// - Parameter row: its ``columns``.
  init(_ row: Row) {
    self.init(
      digest: TokenDigest(stored: Array(row[0] as Data)), space: SpaceName(stored: row[1]),
      member: (row[3] as String?).map { MemberName(stored: $0) },
      label: (row[4] as String?).map { TokenLabel(stored: $0) },
      created: Date(milliseconds: row[2]),
      expires: (row[5] as Int64?).map { Date(milliseconds: $0) })
    // One out of range is told by whatever reads the space.
    phase = SpacePhase(rawValue: row[6]) ?? .served
  }
}
#endif
