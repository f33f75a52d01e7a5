#if PostgreSQL
import TernCore

/// What a space's row counts, and the heads of its authors: kept as operations and parts come and
/// go.
struct PostgreSQLCounts {
  let db: PostgreSQLConnection
  let schema: PostgreSQLSchema
  let id: Int64

  private var key: PostgreSQLValue { .integer(id) }

  /// - Parameter counted: what comes to each author.
  func set(
    _ heads: [ReplicaID: AuthorHead], position: Int64,
    adding counted: [ReplicaID: CountedOperations]
  ) throws {
    // In one order in all processes, though the space is locked.
    let sorted = heads.sorted { $0.key < $1.key }
    func numbers(_ number: (CountedOperations) -> Int) -> PostgreSQLValue {
      .integers(sorted.map { Int64(number(counted[$0.key] ?? .init())) })
    }
    db.queue(
      """
      INSERT INTO \(schema("head")) AS head (
        space, author, sequence, time, continues, operations, bytes)
      SELECT $1, * FROM unnest(
        $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
      ON CONFLICT (space, author) DO UPDATE SET sequence = excluded.sequence, time = excluded.time,
        continues = excluded.continues, operations = head.operations + excluded.operations,
        bytes = head.bytes + excluded.bytes
      """,
      [
        key, .byteStrings(sorted.map(\.key.bytes)),
        .integers(sorted.map { Int64($0.value.sequence) }),
        .integers(sorted.map { Int64(bitPattern: $0.value.time.rawValue) }),
        .integers(sorted.map { $0.value.continues ? 1 : 0 }), numbers(\.operations),
        numbers(\.bytes),
      ])
    db.queue(
      "UPDATE \(schema("space")) SET position = $2, bytes = bytes + $3 WHERE id = $1",
      [key, .integer(position), .integer(counted.values.reduce(0) { $0 + $1.bytes })])
  }

  /// Keeps ``SpaceUsage/bytes`` and ``SpaceUsage/keptBytes``.
  func addBytes(_ bytes: Int, kept: Int = 0) throws {
    db.queue(
      "UPDATE \(schema("space")) SET bytes = bytes + $2, kept_bytes = kept_bytes + $3 WHERE id = $1",
      [key, .integer(bytes), .integer(kept)])
  }

  // MARK: - What is trimmed

  struct Places {
    let trimmed: Int64
    /// Up to here operations count as kept, or have no bytes any more.
    let released: Int64
    let emptied: Int64
  }

  func places() throws -> Places {
    let row = try db.run(
      "SELECT trimmed, released, emptied FROM \(schema("space")) WHERE id = $1", [key]
    ).first!
    func place(_ column: Int) throws -> Int64 { try row.number(column, .position, of: "space") }
    return Places(trimmed: try place(0), released: try place(1), emptied: try place(2))
  }

  /// Changes what is counted of the authors of some operations.
  ///
  /// - Parameter sign: `-` or `+`.
  func countAuthors(after start: Int64, through end: Int64, _ sign: String) throws {
    db.queue(
      """
      UPDATE \(schema("head")) AS head
      SET operations = greatest(0, head.operations \(sign) found.count),
        bytes = greatest(0, head.bytes \(sign) found.length)
      FROM (
        SELECT author, count(*) AS count, coalesce(sum(length(bytes)), 0)::bigint AS length
        FROM \(schema("operation")) LEFT JOIN \(schema("operation_bytes")) USING (space, position)
        WHERE space = $1 AND position > $2 AND position <= $3 AND sequence > 0 GROUP BY author
      ) AS found
      WHERE head.space = $1 AND head.author = found.author
      """, [key, .integer(start), .integer(end)])
  }

  /// Where so many operations, or about so many bytes of them, end. The length alone is read, which
  /// the row has without its bytes.
  func some(
    after start: Int64, through last: Int64, operations: Int, contentBytes: Int
  ) throws -> (end: Int64, bytes: Int) {
    let rows = try db.run(
      """
      SELECT position, coalesce(length(bytes), 0)::bigint
      FROM \(schema("operation")) LEFT JOIN \(schema("operation_bytes")) USING (space, position)
      WHERE space = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT $4
      """, [key, .integer(start), .integer(last), .integer(operations)])
    var (end, total) = (start, 0)
    for index in 0..<rows.count {
      let bytes = Int(rows[index].integer(1))
      if end > start, bytes > contentBytes - total { break }
      total += bytes
      end = try rows[index].number(0, .position, of: "operation")
    }
    return (end, total)
  }
}
#endif
