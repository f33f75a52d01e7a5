#if PostgreSQL
import TernCore

/// All that the decision on a push asks in the usual case, read by one statement.
struct PushFacts {
  let push: ForeseenPush
  /// Of the push's authors.
  private(set) var heads: [ReplicaID: AuthorHead] = [:]
  private(set) var records: [ReplicaID: AuthorRecord] = [:]
  /// Of the push's operations that the space has.
  private(set) var digests: [OperationKey: OperationDigest] = [:]
  /// Up to the space's newest position.
  let chain: ChainDigest?
  let usage: SpaceUsage
  let deadlines: SpaceDeadlines
  let headCount: Int
  let authorCount: Int
  let counted: CountedOperations
  /// Of the member that pushes.
  let ownAuthorCount: Int
  let ownCounted: CountedOperations

  /// One row for each author of the push, if there is such a space.
  static func statement(
    of push: ForeseenPush, in space: SpaceName, _ schema: PostgreSQLSchema
  ) -> (sql: String, values: [PostgreSQLValue]) {
    let authors = push.first.sorted { $0.key < $1.key }
    let keys = push.keys.filter { Int64(exactly: $0.sequence) != nil }
    let values: [PostgreSQLValue] =
      [
        .text(space.text), .byteStrings(authors.map(\.key.bytes)),
        .integers(authors.map { Int64(clamping: $0.value) }),
        .byteStrings(keys.map(\.author.bytes)), .integers(keys.map { Int64($0.sequence) }),
      ] + MemberName.counting(push.member)
    return (sql(schema), values)
  }

  private static func sql(_ schema: PostgreSQLSchema) -> String {
    let own = "replica IS NOT NULL AND " + AuthorRecord.countsForMember("$6", "$7")
    return """
      WITH space AS MATERIALIZED (SELECT * FROM \(schema("space")) WHERE name = $1),
      counted AS (
        SELECT count(head.author), count(head.author) FILTER (WHERE banned_after IS NULL),
          count(*) FILTER (WHERE \(own)),
          \(CountedOperations.sums(where: "head.author IS NOT NULL")),
          \(CountedOperations.sums(where: "head.author IS NOT NULL AND banned_after IS NOT NULL")),
          \(CountedOperations.sums(where: "head.author IS NOT NULL AND \(own)"))
        FROM (SELECT * FROM \(schema("head")) WHERE space = (SELECT id FROM space)) AS head
        FULL JOIN (SELECT * FROM \(schema("author")) WHERE space = (SELECT id FROM space)) AS author
          ON replica = head.author
      )
      SELECT pushed.author, \(named(AuthorHead.columns, "head")),
        \(named(AuthorRecord.columns, "author")), replica,
        CASE WHEN head.sequence >= first THEN (
          SELECT string_agg(int8send(stored.sequence) || digest, ''::bytea)
          FROM unnest($4::bytea[], $5::bigint[]) AS key (author, sequence)
          JOIN \(schema("operation")) AS stored
            ON stored.author = key.author AND stored.sequence = key.sequence
          WHERE stored.space = space.id AND key.author = pushed.author) END,
        (SELECT chain FROM \(schema("operation")) AS newest
          WHERE newest.space = space.id AND newest.position = space.position),
        \(named(SpaceUsage.columns, "space")), refill_ms, untrimmed_ms, suspended_ms, counted.*
      FROM space CROSS JOIN counted
      CROSS JOIN unnest($2::bytea[], $3::bigint[]) AS pushed (author, first)
      LEFT JOIN \(schema("head")) AS head
        ON head.space = space.id AND head.author = pushed.author
      LEFT JOIN \(schema("author")) AS author
        ON author.space = space.id AND author.replica = pushed.author
      """
  }

  private static func named(_ columns: String, _ table: String) -> String {
    columns.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// - Parameter rows: of ``statement(of:in:_:)``, at least one.
  init(_ rows: PostgreSQLRows, of push: ForeseenPush) throws {
    self.push = push
    let first = rows[0]
    chain = first.bytes(14).map { ChainDigest(stored: $0) }
    deadlines = try SpaceDeadlines(first, from: 21)
    (headCount, authorCount) = (Int(first.integer(24)), Int(first.integer(25)))
    ownAuthorCount = Int(first.integer(26))
    counted = try CountedOperations(first, from: 27)
    var usage = try SpaceUsage(first, from: 15, operations: counted.operations)
    usage.banned = try CountedOperations(first, from: 29)
    self.usage = usage
    ownCounted = try CountedOperations(first, from: 31)
    for index in 0..<rows.count {
      let row = rows[index]
      let author = try row.replica(0)
      if !row.isNull(1) { heads[author] = try AuthorHead(row, from: 1) }
      if !row.isNull(12) { records[author] = try AuthorRecord(row, from: 6) }
      try addDigests(row.bytes(13) ?? [], of: author)
    }
  }

  /// - Parameter stored: of each operation its sequence number, in eight bytes, and its digest.
  private mutating func addDigests(_ stored: [UInt8], of author: ReplicaID) throws {
    let length = 8 + 32
    guard stored.count.isMultiple(of: length) else {
      throw StoreError(
        .damaged, "a digest of replica \(author) has not 32 bytes; see 'tern doctor'")
    }
    for start in stride(from: 0, to: stored.count, by: length) {
      let sequence = stored[start..<start + 8].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      digests[OperationKey(author: author, sequence: sequence)] = OperationDigest(
        stored: Array(stored[start + 8..<start + length]))
    }
  }
}
#endif
