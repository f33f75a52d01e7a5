#if PostgreSQL
import TernCore

extension PostgreSQLSpaceTransaction {
  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]
  {
    try PassedBases(counts: counts).pass(
      after: position, held: held, heads: try heads(), position: Int64(self.position))
  }
}

/// Bases that are to be places which pages pass over, and what stands on them alone.
private struct PassedBases {
  let counts: PostgreSQLCounts

  private var db: PostgreSQLConnection { counts.db }
  private var schema: PostgreSQLSchema { counts.schema }
  private var key: PostgreSQLValue { .integer(counts.id) }

  func pass(
    after position: UInt64, held: [ReplicaID: SnapshotHead], heads: [ReplicaID: AuthorHead],
    position end: Int64
  ) throws -> [ReplicaID: AuthorHead?] {
    db.queue(
      """
      UPDATE \(schema("operation")) SET author = $2
      WHERE space = $1 AND author = $3 AND sequence < 0 AND position > $4
      """,
      [
        key, .bytes(ReplicaID.ofPassed.bytes), .bytes(ReplicaID.ofBases.bytes),
        .integer(Int64(clamping: position)),
      ])
    var changed: [ReplicaID: AuthorHead?] = [:]
    var removed: [ReplicaID: CountedOperations] = [:]
    for (author, head) in heads.sorted(by: { $0.key < $1.key }) {
      let covered = held[author]
      let last = try lastFollowing(covered?.sequence ?? 0, of: author)
      guard last < head.sequence else { continue }
      removed[author] = try CountedOperations() - pass(after: last, of: author)
      changed[author] = .some(
        try AuthorHead(ofOperation: bytes(of: last, by: author), or: covered))
    }
    db.queue(
      "DELETE FROM \(schema("head")) WHERE space = $1 AND author = ANY($2)",
      [key, .byteStrings(changed.filter { $0.value == nil }.map(\.key.bytes))])
    try counts.set(changed.compactMapValues(\.self), position: end, adding: removed)
    db.queue("DELETE FROM \(schema("state")) WHERE space = $1", [key])
    return changed
  }

  /// The author's last operation up to which none is missing behind `sequence`.
  private func lastFollowing(_ sequence: UInt64, of author: ReplicaID) throws -> UInt64 {
    let last = try db.run(
      """
      SELECT max(sequence) FROM (
        SELECT sequence, row_number() OVER (ORDER BY sequence) AS number
        FROM \(schema("operation")) WHERE space = $1 AND author = $2 AND sequence > $3
      ) AS later
      WHERE sequence = $3 + number
      """, [key, .bytes(author.bytes), .integer(Int64(clamping: sequence))]
    ).first!
    return last.isNull(0) ? sequence : UInt64(try last.number(0, .sequence, of: "operation"))
  }

  /// Returns what the author's later operations were.
  private func pass(after sequence: UInt64, of author: ReplicaID) throws -> CountedOperations {
    let passed = try db.change(
      """
      WITH passed AS (
        UPDATE \(schema("operation")) SET author = $4, sequence = -position
        WHERE space = $1 AND author = $2 AND sequence > $3 RETURNING position
      ), gone AS (
        DELETE FROM \(schema("operation_bytes")) AS stored USING passed
        WHERE space = $1 AND stored.position = passed.position RETURNING length(bytes) AS length
      )
      SELECT (SELECT count(*) FROM passed), (SELECT coalesce(sum(length), 0)::bigint FROM gone)
      """,
      [
        key, .bytes(author.bytes), .integer(Int64(clamping: sequence)),
        .bytes(ReplicaID.ofPassed.bytes),
      ]
    ).first!
    return CountedOperations(
      operations: Int(passed.integer(0)), bytes: Int(passed.integer(1)))
  }

  /// None where they are gone, or the space lacks the operation.
  private func bytes(of sequence: UInt64, by author: ReplicaID) throws -> [UInt8] {
    try db.run(
      """
      SELECT bytes FROM \(schema("operation")) JOIN \(schema("operation_bytes")) USING (space, position)
      WHERE space = $1 AND author = $2 AND sequence = $3
      """, [key, .bytes(author.bytes), .integer(Int64(clamping: sequence))]
    ).first?.bytes(0) ?? []
  }
}
#endif
