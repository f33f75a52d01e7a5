#if Server
import Foundation
import GRDB
import TernCore

/// Looks at whose the replica ids of a space are (INV-13).
struct AuthorDoctor {
  private let db: Database
  private let space: SpacePlaces
  private let findings: Findings

  init(_ db: Database, _ space: SpacePlaces, _ findings: Findings) {
    (self.db, self.space, self.findings) = (db, space, findings)
  }

  func run() throws {
    try checkRecords()
    try checkCounts()
    try checkRoom()
  }

  /// A member without any left has its next device turned away. Goes by what a server allows where
  /// the space says nothing else.
  private func checkRoom() throws {
    let most = try Int.fetchOne(
      db, sql: "SELECT ifnull(quota_authors, ?) FROM space WHERE id = ?",
      arguments: [ServerLimits().authorsPerMember, space.id])
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT ifnull(member, brought_by) AS whose, count(*) AS count FROM author
        WHERE space = ?1 AND banned_after IS NULL AND whose IS NOT NULL
        GROUP BY whose HAVING 5 * count >= 4 * ?2 ORDER BY whose
        """, arguments: [space.id, most])
    while let row = try rows.next() {
      let name = row[0] as String
      try findings.add(
        .memberIDs, "\(row[1] as Int) of \(most ?? 0) replica ids are taken",
        at: .init(name: name.isEmpty ? "tokens without a member" : "member \(name)"))
    }
  }

  /// What a quota counts of an author.
  private func checkCounts() throws {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT author, operations, bytes, stored.count, stored.length FROM head JOIN (
          SELECT author AS whose, count(*) AS count, sum(length(bytes)) AS length FROM operation
          WHERE space = ?1 AND position > ?2 AND sequence > 0 GROUP BY author
        ) AS stored ON whose = head.author
        WHERE head.space = ?1 AND (operations <> stored.count OR head.bytes <> stored.length)
        UNION ALL
        SELECT author, operations, bytes, 0, 0 FROM head
        WHERE space = ?1 AND (operations <> 0 OR bytes <> 0) AND NOT EXISTS (
          SELECT 1 FROM operation WHERE operation.space = ?1 AND operation.author = head.author
            AND position > ?2)
        """, arguments: [space.id, space.released])
    while let row = try rows.next() {
      let replica = ReplicaID(bytes: row[0] as Data)
      try findings.add(
        .spaceBytes,
        "it says \(row[1] as Int64) operations of \(row[2] as Int64) bytes, and there are "
          + "\(row[3] as Int64) of \(row[4] as Int64)",
        at: .init(name: "replica \(replica?.description ?? "without an id")"))
    }
  }

  private func checkRecords() throws {
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT replica, ifnull(sequence, 0), brought_first, brought_last, banned_after, brought_by
        FROM author LEFT JOIN head ON head.space = author.space AND head.author = replica
        WHERE author.space = ?
        """, arguments: [space.id])
    while let row = try rows.next() {
      let (replica, head) = (ReplicaID(bytes: row[0] as Data), row[1] as Int64)
      let place = DatabaseFinding.Place(name: "replica \(replica?.description ?? "without an id")")
      let (first, last) = (row[2] as Int64?, row[3] as Int64?)
      let isWhole =
        if let first, let last { first <= last && last <= head } else {
          first == nil && last == nil && row[5] as String? == nil
        }
      if replica == nil || !isWhole {
        try findings.add(.author, "what is said of who brought it can't be", at: place)
      } else if let banned = row[4] as Int64?, head > banned {
        try findings.add(
          .author, "it was banned after operation \(banned), and the space has \(head)", at: place)
      }
    }
  }
}
#endif
