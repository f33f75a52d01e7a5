#if Server
import Foundation
import GRDB
import TernCore

extension SQLiteSpaceTransaction {
  func passBases(after position: UInt64, held: [ReplicaID: SnapshotHead]) throws
    -> [ReplicaID: AuthorHead?]
  {
    try PassedBases(db: db, id: id).pass(
      after: position, held: held, heads: try heads(), position: Int64(self.position))
  }
}

/// Bases that are to be places which pages pass over, and what stands on them alone.
private struct PassedBases {
  let db: Database
  let id: Int64

  func pass(
    after position: UInt64, held: [ReplicaID: SnapshotHead], heads: [ReplicaID: AuthorHead],
    position end: Int64
  ) throws -> [ReplicaID: AuthorHead?] {
    try db.execute(
      sql: """
        UPDATE operation SET author = ?
        WHERE space = ? AND author = ? AND sequence < 0 AND position > ?
        """,
      arguments: [
        ReplicaID.ofPassed.data, id, ReplicaID.ofBases.data, Int64(clamping: position),
      ])
    var changed: [ReplicaID: AuthorHead?] = [:]
    var removed: [ReplicaID: CountedOperations] = [:]
    for (author, head) in heads.sorted(by: { $0.key < $1.key }) {
      let covered = held[author]
      let last = try lastFollowing(covered?.sequence ?? 0, of: author)
      guard last < head.sequence else { continue }
      removed[author] = try CountedOperations() - pass(after: last, of: author)
      changed[author] = .some(try self.head(last, of: author, covered))
    }
    for (author, head) in changed where head == nil {
      try db.execute(
        sql: "DELETE FROM head WHERE space = ? AND author = ?", arguments: [id, author.data])
    }
    try SpaceCounts(db: db, id: id).set(
      changed.compactMapValues(\.self), position: end, adding: removed)
    try db.execute(sql: "DELETE FROM state WHERE space = ?", arguments: [id])
    return changed
  }

  /// The author's last operation up to which none is missing behind `sequence`.
  private func lastFollowing(_ sequence: UInt64, of author: ReplicaID) throws -> UInt64 {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT sequence FROM operation WHERE space = ? AND author = ? AND sequence > ?
        ORDER BY sequence
        """, arguments: [id, author.data, Int64(clamping: sequence)])
    var last = sequence
    while let row = try rows.next() {
      let next = UInt64(try row.number(0, .sequence, of: "operation"))
      guard next == last + 1 else { break }
      last = next
    }
    return last
  }

  /// Returns what the author's later operations were.
  private func pass(after sequence: UInt64, of author: ReplicaID) throws -> CountedOperations {
    let what = "space = ? AND author = ? AND sequence > ?"
    let arguments: StatementArguments = [id, author.data, Int64(clamping: sequence)]
    let passed = try Row.fetchOne(
      db, sql: "SELECT count(*), ifnull(sum(length(bytes)), 0) FROM operation WHERE \(what)",
      arguments: arguments)
    try db.execute(
      sql: "UPDATE operation SET author = ?, sequence = -position, bytes = x'' WHERE \(what)",
      arguments: [ReplicaID.ofPassed.data] + arguments)
    return passed.map { CountedOperations(operations: $0[0], bytes: $0[1]) } ?? .init()
  }

  /// As the operation says, or the snapshot that stands for it.
  private func head(_ sequence: UInt64, of author: ReplicaID, _ covered: SnapshotHead?) throws
    -> AuthorHead?
  {
    let bytes = try Data.fetchOne(
      db, sql: "SELECT bytes FROM operation WHERE space = ? AND author = ? AND sequence = ?",
      arguments: [id, author.data, Int64(clamping: sequence)])
    return try AuthorHead(ofOperation: bytes.map { Array($0) } ?? [], or: covered)
  }
}
#endif
