#if Server
import Foundation
import GRDB
import TernCore

/// Looks again into the snapshots that a space took: each against the one before it and the log
/// since, the first against the whole log, where nothing of that is trimmed.
///
/// What an operator accepted may differ, and the file doesn't say what that was. So it is a remark.
struct OfferDoctor {
  private let db: Database
  private let space: SpacePlaces
  private let findings: Findings
  private let heads: [ReplicaID: AuthorHead]

  init(
    _ db: Database, _ space: SpacePlaces, _ findings: Findings, _ heads: [ReplicaID: AuthorHead]
  ) {
    (self.db, self.space, self.findings, self.heads) = (db, space, findings, heads)
  }

  func run() throws {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT \(StoredSnapshot.columns), id, heads FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND is_complete ORDER BY position, name
        """, arguments: [space.id])
    let base = try UInt64.fetchOne(
      db,
      sql: "SELECT max(position) FROM operation WHERE space = ? AND author = ? AND sequence < 0",
      arguments: [space.id, ReplicaID.ofBases.data])
    var previous: StoredSnapshot?
    var numbers: [String: Int64] = [:]
    for row in rows {
      let snapshot = try StoredSnapshot(row)
      numbers[snapshot.id] = row["id"]
      // The log goes over no base: its snapshot stands for what the log never had.
      let begins = previous?.position ?? 0
      if UInt64(space.trimmed) <= begins, begins >= base ?? 0, !snapshot.isBase,
        let offered = SnapshotHeads.decode(Array(row["heads"] as Data))
      {
        try check(snapshot, offered, after: previous, numbers)
      }
      previous = snapshot
    }
  }

  private func check(
    _ snapshot: StoredSnapshot, _ offered: [ReplicaID: SnapshotHead],
    after previous: StoredSnapshot?, _ numbers: [String: Int64]
  ) throws {
    let check = OfferCheck(
      space: SpaceName(stored: space.name), offered: snapshot, offeredHeads: offered,
      previous: previous, heads: heads, end: UInt64(space.position), content: [])
    let source = OfferSource { index, snapshot in
      try Data.fetchOne(
        db, sql: "SELECT bytes FROM snapshot_part WHERE snapshot = ? AND part = ?",
        arguments: [numbers[snapshot.id], index]
      ).map { Array($0) }
    } operations: { position in
      try operations(after: position)
    }
    guard let reason = try check.run(reading: source).refusal else { return }
    let place = DatabaseFinding.Place(name: "snapshot \(snapshot.id)")
    try findings.add(
      .snapshotReplay, "it is not what the log makes of the one before: \(reason)", at: place)
  }

  private func operations(after position: UInt64) throws -> OfferSource.Operations {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT position, bytes FROM operation WHERE space = ? AND position > ?
        ORDER BY position LIMIT 100
        """, arguments: [space.id, Int64(position)])
    return OfferSource.Operations(
      trimmed: UInt64(space.trimmed),
      bytes: rows.map { Array($0[1] as Data) }.filter { !$0.isEmpty },
      end: rows.last.map { UInt64($0[0] as Int64) } ?? position)
  }
}
#endif
