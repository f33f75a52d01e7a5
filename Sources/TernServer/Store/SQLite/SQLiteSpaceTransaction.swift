#if Server
import Foundation
import GRDB
import TernCore
import TernDatabase

/// A transaction that holds the file's write lock. Only used inside the call that made it.
final class SQLiteSpaceTransaction: SpaceTransaction {
  let position: UInt64

  let db: Database
  let id: Int64
  /// The row of the space.
  var counts: SpaceCounts { SpaceCounts(db: db, id: id) }
  private let isNew: Bool
  let suspended: Date?
  let standing: SpaceStanding

  /// - Parameter epoch: the store's.
  init(_ db: Database, space: SpaceName, _ epoch: String) throws {
    self.db = db
    if let row = try SpaceRow.fetch(db, name: space, epoch) {
      (id, position, isNew, suspended) = (row.id, row.position, false, row.suspended)
      standing = row.standing
    } else {
      try db.execute(
        sql: "INSERT INTO space (name, position) VALUES (?, 0)", arguments: [space.text])
      (id, position, isNew, suspended) = (db.lastInsertedRowID, 0, true, nil)
      standing = SpaceStanding(epoch: epoch)
    }
  }

  var spacesBefore: Int? {
    get throws {
      guard isNew else { return nil }
      return try Int.fetchOne(
        db, sql: "SELECT count(*) - 1 FROM space WHERE NOT \(RemovedSpace.condition)")
    }
  }

  func heads() throws -> [ReplicaID: AuthorHead] {
    let statement = try db.cachedStatement(
      sql: "SELECT \(AuthorHead.columns), author FROM head WHERE space = ?")
    var heads: [ReplicaID: AuthorHead] = [:]
    let rows = try Row.fetchCursor(statement, arguments: [id])
    while let row = try rows.next() {
      heads[try ReplicaID(stored: row[5])] = try AuthorHead(row)
    }
    return heads
  }

  func heads(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorHead] {
    let statement = try db.cachedStatement(
      sql: "SELECT \(AuthorHead.columns) FROM head WHERE space = ? AND author = ?")
    var heads: [ReplicaID: AuthorHead] = [:]
    for author in authors {
      guard let row = try Row.fetchOne(statement, arguments: [id, author.data]) else { continue }
      heads[author] = try AuthorHead(row)
    }
    return heads
  }

  func digests(of keys: [OperationKey]) throws -> [OperationKey: OperationDigest] {
    let statement = try db.cachedStatement(
      sql: "SELECT digest FROM operation WHERE space = ? AND author = ? AND sequence = ?")
    var digests: [OperationKey: OperationDigest] = [:]
    for key in keys {
      guard let sequence = Int64(exactly: key.sequence) else { continue }
      let data = try Data.fetchOne(statement, arguments: [id, key.author.data, sequence])
      digests[key] = data.map { OperationDigest(stored: Array($0)) }
    }
    return digests
  }

  func position(of key: OperationKey) throws -> UInt64? {
    guard let sequence = Int64(exactly: key.sequence) else { return nil }
    let statement = try db.cachedStatement(
      sql: "SELECT position FROM operation WHERE space = ? AND author = ? AND sequence = ?")
    return try Row.fetchOne(statement, arguments: [id, key.author.data, sequence])
      .map { try $0.position(0, of: "operation") }
  }

  func chain(at position: UInt64) throws -> ChainDigest? {
    try ChainDigest.fetch(db, space: id, at: position)
  }

  var basePosition: UInt64 {
    get throws {
      // Its number is its position, negative.
      let newest = try Row.fetchOne(
        db,
        sql: """
          SELECT position FROM operation WHERE space = ? AND author = ? AND sequence < 0
          ORDER BY sequence LIMIT 1
          """, arguments: [id, ReplicaID.ofBases.data])
      return try newest?.position(0, of: "operation") ?? 0
    }
  }

  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) throws -> ChainDigest? {
    let insert = try FastStatement(
      db,
      """
      INSERT INTO operation (space, position, author, sequence, digest, chain, bytes)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    insert.bind(1, id)
    var position = Int64(position)
    var counted: [ReplicaID: CountedOperations] = [:]
    var chain = try chain(at: self.position)
    var author: ReplicaID?
    for new in operations {
      position += 1
      let key = new.key
      counted[key.author] = (counted[key.author] ?? .init()) + CountedOperations([new])
      let next = ChainDigest(after: chain, new.digest)
      chain = next
      if key.author != author { insert.bind(3, copy: .blob(key.author.bytes)) }
      author = key.author
      insert.bind(2, position)
      insert.bind(4, Int64(key.sequence))
      try new.digest.bytes.withUnsafeBytes { digest in
        try next.bytes.withUnsafeBytes { chain in
          try new.operation.bytes.withUnsafeBytes { bytes in
            insert.bind(5, blob: digest)
            insert.bind(6, blob: chain)
            insert.bind(7, blob: bytes)
            try insert.run()
          }
        }
      }
    }
    try counts.set(heads, position: position, adding: counted)
    return chain
  }

  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) throws -> ChainDigest {
    let next = Int64(position) + 1
    let chain = ChainDigest(after: try chain(at: position), digest)
    try db.execute(
      sql: """
        INSERT INTO operation (space, position, author, sequence, digest, chain, bytes)
        VALUES (?, ?, ?, ?, ?, ?, x'')
        """,
      arguments: [
        id, next, ReplicaID.ofBases.data, -next, Data(digest.bytes), Data(chain.bytes),
      ])
    try counts.set(heads, position: next, adding: [:])
    return chain
  }

  func add(_ token: TokenRecord) throws {
    try db.execute(
      sql: """
        INSERT INTO token (digest, space, created_ms, member, label, expires_ms)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        Data(token.digest.bytes), id, token.created.milliseconds, token.member?.text,
        token.label?.text, token.expires?.milliseconds,
      ])
  }

  func remove(_ token: TokenDigest) throws -> TokenRecord? {
    let statement = try db.cachedStatement(
      sql: SQLiteSpaceStore.selectTokens + " WHERE token.digest = ? AND space.id = ?")
    guard let row = try Row.fetchOne(statement, arguments: [Data(token.bytes), id]) else {
      return nil
    }
    try db.execute(sql: "DELETE FROM token WHERE digest = ?", arguments: [Data(token.bytes)])
    return TokenRecord(row)
  }
}

extension AuthorHead {
  /// Also looks at the numbers that it leaves out, which a push is added to.
  init(_ row: Row) throws {
    _ = try row.number(3, .position, of: "head")
    _ = try row.number(4, .bytes, of: "head")
    self.init(
      sequence: UInt64(try row.number(0, .sequence, of: "head")),
      time: HybridTime(rawValue: UInt64(bitPattern: row[1] as Int64)), continues: row[2])
  }
}
#endif
