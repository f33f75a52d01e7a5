#if PostgreSQL
import TernCore

extension PostgreSQLSpaceTransaction {
  func authorRecords(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorRecord] {
    if let facts, facts.push.authors.isSuperset(of: authors) {
      return facts.records.filter { authors.contains($0.key) }
    }
    return try AuthorRecord.all(
      in: db.run(
        """
        SELECT \(AuthorRecord.columns), replica FROM \(schema("author"))
        WHERE space = $1 AND replica = ANY($2)
        """, [key, .byteStrings(authors.map(\.bytes))]))
  }

  func set(_ record: AuthorRecord, of author: ReplicaID) throws {
    let brought = record.brought
    db.queue(
      """
      INSERT INTO \(schema("author")) (
        space, replica, member, brought_by, brought_first, brought_last, admitted, banned_after)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (space, replica) DO UPDATE SET member = excluded.member,
        brought_by = excluded.brought_by, brought_first = excluded.brought_first,
        brought_last = excluded.brought_last, admitted = excluded.admitted,
        banned_after = excluded.banned_after
      """,
      [
        key, .bytes(author.bytes), .text(record.member?.text), .text(brought?.bringer.text),
        .integer(brought.map { Int64($0.first) }), .integer(brought.map { Int64($0.last) }),
        .integer(record.admitted.map { Int64($0) }),
        .integer(record.bannedAfter.map { Int64($0) }),
      ])
  }

  var authorCount: Int {
    get throws {
      if let facts { return facts.authorCount }
      return try db.count(
        of: key,
        """
        \(schema("head")) AS head WHERE space = $1 AND NOT EXISTS (
          SELECT FROM \(schema("author")) AS author
          WHERE author.space = head.space AND replica = head.author AND banned_after IS NOT NULL)
        """)
    }
  }

  var headCount: Int {
    get throws {
      if let facts { return facts.headCount }
      return try db.count(of: key, "\(schema("head")) WHERE space = $1")
    }
  }

  func authorCount(of member: MemberName?) throws -> Int {
    if let facts, facts.push.member == member { return facts.ownAuthorCount }
    return try db.count(
      of: key,
      "\(schema("author")) WHERE space = $1 AND \(AuthorRecord.countsForMember("$2", "$3"))",
      MemberName.counting(member))
  }

  var counted: CountedOperations {
    get throws {
      if let facts { return facts.counted }
      return try CountedOperations(
        db.run(
          "SELECT \(CountedOperations.sums()) FROM \(schema("head")) AS head WHERE space = $1",
          [key]
        ).first!, from: 0)
    }
  }

  func counted(of member: MemberName?) throws -> CountedOperations {
    if let facts, facts.push.member == member { return facts.ownCounted }
    return try CountedOperations(
      db.run(
        "\(CountedOperations.ofAuthors(schema)) AND \(AuthorRecord.countsForMember("$2", "$3"))",
        [key] + MemberName.counting(member)
      ).first!, from: 0)
  }

  func members(atMost count: Int, withClaims claims: Bool) throws -> Set<MemberName> {
    if count == 2, facts != nil, let pair = pairOfMembers?[claims] { return pair }
    let select = schema.members(of: id, atMost: count, withClaims: claims)
    return MemberName.all(in: try db.run(select.sql, select.values))
  }
}

extension PostgreSQLSchema {
  func members(of space: Int64, atMost count: Int, withClaims claims: Bool) -> (
    sql: String, values: [PostgreSQLValue]
  ) {
    (
      """
      SELECT member FROM \(self("token")) WHERE space = $1 AND member IS NOT NULL
      UNION SELECT member FROM \(self("author"))
      WHERE $3 = 1 AND space = $1 AND member IS NOT NULL AND banned_after IS NULL
      ORDER BY member LIMIT $2
      """, [.integer(space), .integer(count), .integer(claims)]
    )
  }
}

extension MemberName {
  static func all(in rows: PostgreSQLRows) -> Set<MemberName> {
    Set(rows.map { MemberName(stored: $0.text(0)!) })
  }

  static func counting(_ member: MemberName?) -> [PostgreSQLValue] {
    [.text(member?.text ?? ""), .text(member?.text)]
  }
}

extension PostgreSQLConnection {
  fileprivate func count(
    of space: PostgreSQLValue, _ rows: String, _ values: [PostgreSQLValue] = []
  ) throws -> Int {
    try Int(run("SELECT count(*) FROM \(rows)", [space] + values).first!.integer(0))
  }
}

extension CountedOperations {
  /// Of heads. A sum over numbers that are out of range is out of range too.
  ///
  /// - Parameter condition: of the rows that count.
  static func sums(where condition: String? = nil) -> String {
    """
    \(StoredNumber.position.sum("head.operations", where: condition))::bigint,
    \(StoredNumber.bytes.sum("head.bytes", where: condition))::bigint
    """
  }

  /// Of the authors of a space of whom something is known.
  fileprivate static func ofAuthors(_ schema: PostgreSQLSchema) -> String {
    """
    SELECT \(sums()) FROM \(schema("author")) AS author JOIN \(schema("head")) AS head
      ON head.space = author.space AND head.author = author.replica
    WHERE author.space = $1
    """
  }

  init(_ row: PostgreSQLRow, from first: Int) throws {
    self.init(
      operations: Int(try row.number(first, .position, of: "head")),
      bytes: Int(try row.number(first + 1, .bytes, of: "head")))
  }

  /// Of those that are banned, mostly none.
  static func fetchBanned(
    _ db: PostgreSQLConnection, _ schema: PostgreSQLSchema, space: Int64
  ) throws -> CountedOperations {
    try CountedOperations(
      db.run(
        "\(ofAuthors(schema)) AND banned_after IS NOT NULL", [.integer(space)]
      ).first!, from: 0)
  }
}

extension PostgreSQLSpaceStore {
  private func readRecords(_ condition: String, _ values: [PostgreSQLValue], _ space: SpaceName)
    throws -> [ReplicaID: AuthorRecord]
  {
    try naming(space) {
      try AuthorRecord.all(
        in: run(
          """
          SELECT \(AuthorRecord.columns), replica FROM \(schema("author"))
          WHERE space = (SELECT id FROM \(schema("space")) WHERE name = $1) \(condition)
          """, [.text(space.text)] + values))
    }
  }

  public func authorRecord(of replica: ReplicaID, in space: SpaceName) throws -> AuthorRecord? {
    try readRecords("AND replica = $2", [.bytes(replica.bytes)], space)[replica]
  }

  public func authorRecords(of space: SpaceName) throws -> [ReplicaID: AuthorRecord] {
    try readRecords("", [], space)
  }
}

extension AuthorRecord {
  /// Which ids count as a member's.
  ///
  /// - Parameter parameters: of ``MemberName/counting(_:)``.
  static func countsForMember(_ bringer: String, _ member: String) -> String {
    """
    banned_after IS NULL AND CASE WHEN member IS NULL
      THEN brought_by IS NOT DISTINCT FROM \(bringer) ELSE member IS NOT DISTINCT FROM \(member) END
    """
  }

  fileprivate static func all(in rows: PostgreSQLRows) throws -> [ReplicaID: AuthorRecord] {
    var records: [ReplicaID: AuthorRecord] = [:]
    for row in 0..<rows.count {
      records[try rows[row].replica(6)] = try AuthorRecord(rows[row], from: 0)
    }
    return records
  }

  /// - Parameter first: the first of its columns.
  init(_ row: PostgreSQLRow, from first: Int) throws {
    func sequence(_ column: Int) throws -> UInt64? {
      if row.isNull(first + column) { return nil }
      return UInt64(try row.number(first + column, .sequence, of: "author"))
    }
    self.init(
      member: row.text(first).map { MemberName(stored: $0) },
      admitted: try sequence(4), bannedAfter: try sequence(5))
    guard let start = try sequence(2), let end = try sequence(3) else { return }
    brought = BroughtOperations(
      first: start, last: end, by: Bringer(stored: row.text(first + 1)))
  }
}
#endif
