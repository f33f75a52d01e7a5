#if PostgreSQL
import Foundation
import TernCore

/// A transaction that holds the lock of a space's row. Only used inside the call that made it.
final class PostgreSQLSpaceTransaction: SpaceTransaction {
  let position: UInt64

  let db: PostgreSQLConnection
  let schema: PostgreSQLSchema
  let id: Int64
  private let isNew: Bool
  let suspended: Date?
  let standing: SpaceStanding
  /// What was read with the lock; no more what the rows say once something was written.
  private let read: (facts: PushFacts, writes: Int)?
  /// Of the space's members, with and without claims, where a push asked for what goes with them.
  var pairOfMembers: [Bool: Set<MemberName>]?

  /// The lock is a statement of its own: one that waited for it and read other rows too would see
  /// those as they were before the wait.
  ///
  /// - Parameters:
  ///   - epoch: the store's.
  ///   - push: what the transaction is for, if that is a push.
  init(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space: SpaceName, _ epoch: String,
    push: ForeseenPush? = nil
  ) throws {
    (self.db, self.schema) = (db, schema)
    let lock = schema.lock(space)
    let asked = [lock] + (push.map { [PushFacts.statement(of: $0, in: space, schema)] } ?? [])
    let isLate = !Planted.isActive(.readBeforeLock)
    let first = try isLate ? db.runAll(asked) : db.runAll(asked.reversed()).reversed()
    var isNew = false
    var row = first[0].first
    // Of a space that was not there when it was to be locked nothing was read under the lock.
    let facts = row == nil ? nil : first.dropFirst().first
    while row == nil {
      // Another process can make it first, and remove it again before it is locked here.
      isNew =
        try db.change(
          "INSERT INTO \(schema("space")) (name) VALUES ($1) ON CONFLICT DO NOTHING",
          [.text(space.text)]
        ).changed == 1
      row = try db.run(lock.sql, lock.values).first
    }
    guard let row else { fatalError("the loop ends with a row") }
    (id, self.isNew) = (row.integer(0), isNew)
    read = try push.flatMap { push in try facts.map { (try PushFacts($0, of: push), db.writes) } }
    db.clock?.note(row.integer(3))
    position = try row.position(1, of: "space")
    suspended = row.isNull(2) ? nil : try row.time(2, of: "space")
    standing = try row.standing(4, epoch)
  }

  /// `nil` where another process has the lock, or there is no such space.
  init?(
    unlessLocked space: SpaceName, _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema,
    _ epoch: String
  ) throws {
    (self.db, self.schema, isNew, read) = (db, schema, false, nil)
    let lock = schema.lock(space)
    guard let row = try db.run(lock.sql + " SKIP LOCKED", lock.values).first else { return nil }
    id = row.integer(0)
    db.clock?.note(row.integer(3))
    position = try row.position(1, of: "space")
    suspended = row.isNull(2) ? nil : try row.time(2, of: "space")
    standing = try row.standing(4, epoch)
  }

  var key: PostgreSQLValue { .integer(id) }
  var facts: PushFacts? { read.flatMap { $0.writes == db.writes ? $0.facts : nil } }
  var counts: PostgreSQLCounts { PostgreSQLCounts(db: db, schema: schema, id: id) }

  var spacesBefore: Int? {
    get throws {
      guard isNew else { return nil }
      return try Int(
        db.run(
          "SELECT count(*) - 1 FROM \(schema("space")) WHERE NOT \(RemovedSpace.condition)"
        ).first!.integer(0))
    }
  }

  // MARK: - Heads

  func heads() throws -> [ReplicaID: AuthorHead] {
    try AuthorHead.all(
      in: db.run("\(AuthorHead.select(schema)) WHERE space = $1", [key]))
  }

  func heads(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorHead] {
    if let facts, facts.push.authors.isSuperset(of: authors) {
      return facts.heads.filter { authors.contains($0.key) }
    }
    return try AuthorHead.all(
      in: db.run(
        "\(AuthorHead.select(schema)) WHERE space = $1 AND author = ANY($2)",
        [key, .byteStrings(authors.map(\.bytes))]))
  }

  // MARK: - Operations

  func digests(of keys: [OperationKey]) throws -> [OperationKey: OperationDigest] {
    let keys = keys.filter { Int64(exactly: $0.sequence) != nil }
    if keys.isEmpty { return [:] }
    if let facts, facts.push.holds(keys) { return facts.digests }
    let rows = try db.run(
      """
      SELECT operation.author, operation.sequence, digest FROM \(schema("operation")) AS operation
      JOIN unnest($2::bytea[], $3::bigint[]) AS wanted (author, sequence)
        ON operation.author = wanted.author AND operation.sequence = wanted.sequence
      WHERE space = $1
      """,
      [
        key, .byteStrings(keys.map(\.author.bytes)), .integers(keys.map { Int64($0.sequence) }),
      ])
    var digests: [OperationKey: OperationDigest] = [:]
    for index in 0..<rows.count {
      let row = rows[index]
      let key = OperationKey(author: try row.replica(0), sequence: UInt64(row.integer(1)))
      digests[key] = row.bytes(2).map { OperationDigest(stored: $0) }
    }
    return digests
  }

  func position(of key: OperationKey) throws -> UInt64? {
    guard let sequence = Int64(exactly: key.sequence) else { return nil }
    return try db.run(
      """
      SELECT position FROM \(schema("operation")) WHERE space = $1 AND author = $2 AND sequence = $3
      """, [self.key, .bytes(key.author.bytes), .integer(sequence)]
    ).first?.position(0, of: "operation")
  }

  func chain(at position: UInt64) throws -> ChainDigest? {
    if let facts, position == self.position { return facts.chain }
    return try ChainDigest.fetch(db, schema, space: id, at: position)
  }

  var basePosition: UInt64 {
    get throws {
      // Its number is its position, negative.
      try db.run(
        """
        SELECT position FROM \(schema("operation"))
        WHERE space = $1 AND author = $2 AND sequence < 0 ORDER BY sequence LIMIT 1
        """, [key, .bytes(ReplicaID.ofBases.bytes)]
      ).first?.position(0, of: "operation") ?? 0
    }
  }

  func append(_ operations: [NewOperation], heads: [ReplicaID: AuthorHead]) throws -> ChainDigest? {
    var counted: [ReplicaID: CountedOperations] = [:]
    var chains: [[UInt8]] = []
    var chain = try chain(at: position)
    for new in operations {
      counted[new.key.author] =
        (counted[new.key.author] ?? .init()) + CountedOperations([new])
      let next = ChainDigest(after: chain, new.digest)
      chain = next
      chains.append(next.bytes)
    }
    db.queue(
      """
      WITH new AS (
        SELECT $2 + number AS position, author, sequence, digest, chain, bytes
        FROM unnest($3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[])
          WITH ORDINALITY AS new (author, sequence, digest, chain, bytes, number)
      ), added AS (
        INSERT INTO \(schema("operation")) (space, position, author, sequence, digest, chain)
        SELECT $1, position, author, sequence, digest, chain FROM new
      )
      INSERT INTO \(schema("operation_bytes")) (space, position, bytes)
      SELECT $1, position, bytes FROM new
      """,
      [
        key, .integer(Int64(position)), .byteStrings(operations.map(\.key.author.bytes)),
        .integers(operations.map { Int64($0.key.sequence) }),
        .byteStrings(operations.map(\.digest.bytes)), .byteStrings(chains),
        .byteStrings(operations.map(\.operation.bytes)),
      ])
    try counts.set(heads, position: Int64(position) + Int64(operations.count), adding: counted)
    return chain
  }

  func appendBase(_ digest: OperationDigest, heads: [ReplicaID: AuthorHead]) throws -> ChainDigest {
    let next = Int64(position) + 1
    let chain = ChainDigest(after: try chain(at: position), digest)
    db.queue(
      """
      INSERT INTO \(schema("operation")) (space, position, author, sequence, digest, chain)
      VALUES ($1, $2, $3, $4, $5, $6)
      """,
      [
        key, .integer(next), .bytes(ReplicaID.ofBases.bytes), .integer(-next),
        .bytes(digest.bytes), .bytes(chain.bytes),
      ])
    try counts.set(heads, position: next, adding: [:])
    return chain
  }

  func add(_ token: TokenRecord) throws {
    db.queue(
      """
      INSERT INTO \(schema("token")) (digest, space, created_ms, member, label, expires_ms)
      VALUES ($1, $2, $3, $4, $5, $6)
      """,
      [
        .bytes(token.digest.bytes), key, .integer(token.created.milliseconds),
        .text(token.member?.text), .text(token.label?.text),
        .integer(token.expires?.milliseconds),
      ])
  }

  func remove(_ token: TokenDigest) throws -> TokenRecord? {
    try db.change(
      """
      DELETE FROM \(schema("token")) AS token USING \(schema("space")) AS space
      WHERE token.digest = $1 AND token.space = $2 AND space.id = $2
      RETURNING \(TokenRecord.columns)
      """, [.bytes(token.bytes), key]
    ).first.map { TokenRecord($0) }
  }
}

extension PostgreSQLSchema {
  /// Locks a space's row, of which it gives what every transaction asks: a push needs no statement
  /// more to know where the space stands.
  fileprivate func lock(_ space: SpaceName) -> (sql: String, values: [PostgreSQLValue]) {
    (
      """
      SELECT id, position, suspended_ms, \(DatabaseClock.now), \(SpacePhase.columns)
      FROM \(self("space")) WHERE name = $1
      """ + (Planted.isActive(.headUnlocked) ? "" : " FOR NO KEY UPDATE"), [.text(space.text)]
    )
  }
}

extension AuthorHead {
  fileprivate static func select(_ schema: PostgreSQLSchema) -> String {
    "SELECT \(columns), author FROM \(schema("head"))"
  }

  fileprivate static func all(in rows: PostgreSQLRows) throws -> [ReplicaID: AuthorHead] {
    var heads: [ReplicaID: AuthorHead] = [:]
    for row in 0..<rows.count {
      heads[try rows[row].replica(5)] = try AuthorHead(rows[row], from: 0)
    }
    return heads
  }

  /// Also looks at the numbers that it leaves out, which a push is added to.
  ///
  /// - Parameter first: the first of its columns.
  init(_ row: PostgreSQLRow, from first: Int) throws {
    _ = try CountedOperations(row, from: first + 3)
    self.init(
      sequence: UInt64(try row.number(first, .sequence, of: "head")),
      time: HybridTime(rawValue: UInt64(bitPattern: row.integer(first + 1))),
      continues: row.flag(first + 2))
  }
}

extension PostgreSQLRow {
  func replica(_ column: Int) throws -> ReplicaID {
    try ReplicaID(stored: Data(bytes(column) ?? []))
  }
}

extension ChainDigest {
  /// The chain up to a position; `nil` at 0 and beyond the head.
  static func fetch(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space id: Int64, at position: UInt64
  ) throws -> ChainDigest? {
    guard let position = Int64(exactly: position) else { return nil }
    return try db.run(
      "SELECT chain FROM \(schema("operation")) WHERE space = $1 AND position = $2",
      [.integer(id), .integer(position)]
    ).first?.bytes(0).map { ChainDigest(stored: $0) }
  }
}
#endif
