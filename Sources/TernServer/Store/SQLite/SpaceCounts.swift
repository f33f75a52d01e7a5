#if Server
import GRDB
import TernCore

/// What a space's row counts, and the heads of its authors: kept as operations and parts come and
/// go.
struct SpaceCounts {
  let db: Database
  let id: Int64

  /// - Parameter counted: what comes to each author.
  func set(
    _ heads: [ReplicaID: AuthorHead], position: Int64,
    adding counted: [ReplicaID: CountedOperations]
  ) throws {
    let upsert = try db.cachedStatement(
      sql: """
        INSERT INTO head (space, author, sequence, time, continues, operations, bytes)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (space, author) DO UPDATE SET sequence = excluded.sequence,
          time = excluded.time, continues = excluded.continues,
          operations = operations + excluded.operations, bytes = bytes + excluded.bytes
        """)
    for (author, head) in heads {
      let new = counted[author] ?? CountedOperations()
      try upsert.execute(arguments: [
        id, author.data, Int64(head.sequence), Int64(bitPattern: head.time.rawValue),
        head.continues, new.operations, new.bytes,
      ])
    }
    let move = try db.cachedStatement(
      sql: "UPDATE space SET position = ?, bytes = bytes + ? WHERE id = ?")
    let bytes = counted.values.reduce(0) { $0 + $1.bytes }
    try move.execute(arguments: [position, bytes, id])
  }

  // MARK: - Bytes

  /// Keeps ``SpaceUsage/bytes``.
  func addBytes(_ count: Int) throws {
    let add = try db.cachedStatement(sql: "UPDATE space SET bytes = bytes + ? WHERE id = ?")
    try add.execute(arguments: [count, id])
  }

  /// Counts bytes as ``SpaceUsage/keptBytes``.
  func keepBytes(_ count: Int) throws {
    try db.execute(
      sql: "UPDATE space SET bytes = bytes - ?1, kept_bytes = kept_bytes + ?1 WHERE id = ?2",
      arguments: [count, id])
  }

  // MARK: - What is trimmed

  struct Places {
    let trimmed: Int64
    /// Up to here operations count as kept, or have no bytes any more.
    let released: Int64
    let emptied: Int64
  }

  func places() throws -> Places {
    let row = try Row.fetchOne(
      db, sql: "SELECT trimmed, released, emptied FROM space WHERE id = ?", arguments: [id])
    guard let row else { fatalError("a transaction has its space") }
    func place(_ index: Int) throws -> Int64 { try row.number(index, .position, of: "space") }
    return Places(trimmed: try place(0), released: try place(1), emptied: try place(2))
  }

  /// Changes what is counted of the authors of some operations.
  ///
  /// - Parameter sign: `-` or `+`.
  func countAuthors(after start: Int64, through end: Int64, _ sign: String) throws {
    try db.execute(
      sql: """
        UPDATE head SET operations = max(0, operations \(sign) some.count),
          bytes = max(0, head.bytes \(sign) some.length)
        FROM (
          SELECT author, count(*) AS count, sum(length(bytes)) AS length FROM operation
          WHERE space = ?1 AND position > ?2 AND position <= ?3 AND sequence > 0 GROUP BY author
        ) AS some
        WHERE head.space = ?1 AND head.author = some.author
        """, arguments: [id, start, end])
  }

  /// Where so many operations, or about so many bytes of them, end. The length alone is read:
  /// SQLite has it without walking through a value's pages.
  func some(
    after start: Int64, through last: Int64, operations: Int, contentBytes: Int
  ) throws -> (end: Int64, bytes: Int) {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT position, length(bytes) FROM operation
        WHERE space = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?
        """, arguments: [id, start, last, operations])
    var (end, total) = (start, 0)
    while let row = try rows.next() {
      let bytes: Int = row[1]
      if end > start, bytes > contentBytes - total { break }
      total += bytes
      end = try row.number(0, .position, of: "operation")
    }
    return (end, total)
  }
}
#endif
