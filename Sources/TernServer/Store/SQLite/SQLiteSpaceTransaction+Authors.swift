#if Server
import GRDB
import TernCore

extension SQLiteSpaceTransaction {
  func authorRecords(of authors: Set<ReplicaID>) throws -> [ReplicaID: AuthorRecord] {
    let statement = try db.cachedStatement(
      sql: "SELECT \(AuthorRecord.columns) FROM author WHERE space = ? AND replica = ?")
    var records: [ReplicaID: AuthorRecord] = [:]
    for author in authors {
      records[author] = try Row.fetchOne(statement, arguments: [id, author.data]).map {
        try AuthorRecord($0)
      }
    }
    return records
  }

  func set(_ record: AuthorRecord, of author: ReplicaID) throws {
    let upsert = try db.cachedStatement(
      sql: """
        INSERT INTO author (
          space, replica, member, brought_by, brought_first, brought_last, admitted, banned_after)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space, replica) DO UPDATE SET member = excluded.member,
          brought_by = excluded.brought_by, brought_first = excluded.brought_first,
          brought_last = excluded.brought_last, admitted = excluded.admitted, banned_after = excluded.banned_after
        """)
    let brought = record.brought
    try upsert.execute(arguments: [
      id, author.data, record.member?.text, brought?.bringer.text,
      brought.map { Int64($0.first) }, brought.map { Int64($0.last) },
      record.admitted.map { Int64($0) }, record.bannedAfter.map { Int64($0) },
    ])
  }

  var authorCount: Int {
    get throws {
      try db.count(
        """
        (SELECT count(*) FROM head WHERE space = ?1) - (
          SELECT count(*) FROM author WHERE space = ?1 AND banned_after IS NOT NULL
            AND replica IN (SELECT author FROM head WHERE space = ?1))
        """, [id])
    }
  }

  var headCount: Int {
    get throws { try db.count("(SELECT count(*) FROM head WHERE space = ?)", [id]) }
  }

  func authorCount(of member: MemberName?) throws -> Int {
    try db.count(
      """
      (SELECT count(*) FROM author WHERE space = ? AND banned_after IS NULL
        AND CASE WHEN member IS NULL THEN brought_by IS ? ELSE member IS ? END)
      """, [id, member?.text ?? "", member?.text])
  }

  var counted: CountedOperations {
    get throws {
      let statement = try db.cachedStatement(
        sql: "SELECT \(CountedOperations.sums) FROM head WHERE space = ?")
      return try CountedOperations.fetch(statement, [id])
    }
  }

  func counted(of member: MemberName?) throws -> CountedOperations {
    let statement = try db.cachedStatement(
      sql: """
        \(CountedOperations.ofAuthors) AND banned_after IS NULL
          AND CASE WHEN member IS NULL THEN brought_by IS ? ELSE member IS ? END
        """)
    return try CountedOperations.fetch(statement, [id, member?.text ?? "", member?.text])
  }

  func members(atMost count: Int, withClaims claims: Bool) throws -> Set<MemberName> {
    let statement = try db.cachedStatement(
      sql: """
        SELECT DISTINCT member FROM token WHERE space = ?1 AND member IS NOT NULL
        UNION SELECT DISTINCT member FROM author
        WHERE ?3 AND space = ?1 AND member IS NOT NULL AND banned_after IS NULL
        ORDER BY member LIMIT ?2
        """)
    return Set(
      try String.fetchAll(statement, arguments: [id, count, claims]).map { MemberName(stored: $0) }
    )
  }
}

extension Database {
  fileprivate func count(_ expression: String, _ arguments: StatementArguments) throws -> Int {
    try Int.fetchOne(cachedStatement(sql: "SELECT \(expression)"), arguments: arguments) ?? 0
  }
}

extension CountedOperations {
  /// Of heads.
  fileprivate static let sums = """
    \(StoredNumber.position.sum("head.operations")), \(StoredNumber.bytes.sum("head.bytes"))
    """

  /// Of the authors of a space of whom something is known.
  fileprivate static let ofAuthors = """
    SELECT \(sums) FROM author JOIN head ON head.space = author.space AND head.author = author.replica
    WHERE author.space = ?
    """

  fileprivate static func fetch(_ statement: Statement, _ arguments: StatementArguments) throws
    -> CountedOperations
  {
    guard let row = try Row.fetchOne(statement, arguments: arguments) else { return .init() }
    return CountedOperations(
      operations: Int(try row.number(0, .position, of: "head")),
      bytes: Int(try row.number(1, .bytes, of: "head")))
  }

  /// Of those that are banned, mostly none.
  static func fetchBanned(_ db: Database, space: Int64) throws -> CountedOperations {
    try fetch(
      db.cachedStatement(sql: "\(ofAuthors) AND banned_after IS NOT NULL"), [space])
  }
}

extension SQLiteSpaceStore {
  public func authorRecord(of replica: ReplicaID, in space: SpaceName) throws -> AuthorRecord? {
    try read(space) { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(AuthorRecord.columns) FROM author
          WHERE space = (SELECT id FROM space WHERE name = ?) AND replica = ?
          """)
      return try Row.fetchOne(statement, arguments: [space.text, replica.data]).map {
        try AuthorRecord($0)
      }
    }
  }

  public func authorRecords(of space: SpaceName) throws -> [ReplicaID: AuthorRecord] {
    try read(space) { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(AuthorRecord.columns), replica FROM author
          WHERE space = (SELECT id FROM space WHERE name = ?)
          """)
      var records: [ReplicaID: AuthorRecord] = [:]
      let rows = try Row.fetchCursor(statement, arguments: [space.text])
      while let row = try rows.next() {
        records[try ReplicaID(stored: row["replica"])] = try AuthorRecord(row)
      }
      return records
    }
  }
}

extension AuthorRecord {
  fileprivate init(_ row: Row) throws {
    func sequence(_ index: Int) throws -> UInt64? {
      if row.hasNull(atIndex: index) { return nil }
      return UInt64(try row.number(index, .sequence, of: "author"))
    }
    self.init(
      member: (row[0] as String?).map { MemberName(stored: $0) },
      admitted: try sequence(4), bannedAfter: try sequence(5))
    guard let first = try sequence(2), let last = try sequence(3) else { return }
    brought = BroughtOperations(first: first, last: last, by: Bringer(stored: row[1]))
  }
}
#endif
