#if Server
import Foundation
import GRDB
import TernCore

/// Looks at a space's snapshots: their parts, where they stand, and what they stand for.
struct SnapshotDoctor {
  private let db: Database
  private let space: SpacePlaces
  private let findings: Findings
  /// Of the space; `nil` where they are broken, and nothing is compared with them.
  private let heads: [ReplicaID: AuthorHead]?

  init(
    _ db: Database, _ space: SpacePlaces, _ findings: Findings, _ heads: [ReplicaID: AuthorHead]?
  ) {
    (self.db, self.space, self.findings, self.heads) = (db, space, findings, heads)
  }

  private struct Snapshot {
    let row: Int64
    let name: String
    let cursor: RemoteCursor
    let position: Int64
    let isBase: Bool
    let isComplete: Bool
    let isRefused: Bool
    let parts: Int64
    let bytes: Int64
    let heads: [ReplicaID: SnapshotHead]?
    let isSchemaDamaged: Bool

    init(_ row: Row, name: String) {
      (self.row, self.name) = (row["id"], name)
      (cursor, position) = (RemoteCursor(rawValue: row["cursor"]), row["position"])
      (isBase, isComplete) = (row["is_base"], row["is_complete"])
      // No format before 5 has it.
      isRefused = (row["refusal"] as String?) != nil
      (parts, bytes) = (row["parts"], row["bytes"])
      heads = SnapshotHeads.decode(Array(row["heads"] as Data))
      do {
        _ = try SnapshotSchema(stored: row["schema"], of: name)
        isSchemaDamaged = false
      } catch {
        isSchemaDamaged = true
      }
    }

    var place: DatabaseFinding.Place { .init(name: "snapshot \(name)") }
  }

  func run() throws {
    var (whole, dropped, last) = (0, 0, Int64(0))
    let base = try basePosition()
    let rows = try Row.fetchCursor(
      db, sql: "SELECT * FROM snapshot WHERE space = ? ORDER BY position, name",
      arguments: [space.id])
    while let row = try rows.next() {
      guard let name = row["name"] as String? else {
        // One that can be brought back waits for nothing. No format before 6 has them.
        if (row["dropped_name"] as String?) == nil { dropped += 1 }
        continue
      }
      let snapshot = Snapshot(row, name: name)
      if snapshot.isComplete { (whole, last) = (whole + 1, snapshot.position) }
      try check(snapshot, base: base)
    }
    if whole == 0, space.trimmed > 0 {
      try findings.add(
        .trimmedLost, "operations up to \(space.trimmed) are trimmed, and no snapshot is here")
    }
    if whole > 0 || space.trimmed == 0, last < base {
      try findings.add(
        .base, "no snapshot is here that stands for it", at: .init(name: "position \(base)"))
    }
    if dropped > 0 {
      try findings.add(.snapshotDropped, "parts of \(dropped) dropped snapshots are being removed")
    }
  }

  /// Of the newest; 0 where there is none.
  private func basePosition() throws -> Int64 {
    try Int64.fetchOne(
      db,
      sql: """
        SELECT max(position) FROM operation WHERE space = ? AND sequence < 0 AND author = ?
        """, arguments: [space.id, ReplicaID.ofBases.data]) ?? 0
  }

  /// - Parameter base: the position of the newest one.
  private func check(_ snapshot: Snapshot, base: Int64) throws {
    let place = snapshot.place
    if try !space.owns(snapshot.cursor, at: snapshot.position, db) {
      try findings.add(
        .snapshotCursor, "its cursor is not that of position \(snapshot.position)", at: place)
    }
    if snapshot.isComplete, snapshot.position < space.trimmed {
      try findings.add(
        .trimmedLost, "operations up to \(space.trimmed) are trimmed, and it ends before",
        at: place)
    }
    if snapshot.isComplete, snapshot.isBase { try checkBase(snapshot) }
    try checkParts(snapshot)
    if snapshot.isSchemaDamaged {
      try findings.add(.snapshotSchema, "its schema cannot be read", at: place)
    }
    guard let offered = snapshot.heads else {
      return try findings.add(.snapshotHeads, "its heads cannot be read", at: place)
    }
    if let heads { try check(snapshot, offered, heads, base: base) }
  }

  private func checkBase(_ snapshot: Snapshot) throws {
    let digest = try Data.fetchOne(
      db, sql: "SELECT digest FROM operation WHERE space = ? AND position = ? AND sequence < 0",
      arguments: [space.id, snapshot.position])
    guard let digest, Array(digest) == OperationDigest(base: snapshot.name).bytes else {
      return try findings.add(
        .base, "position \(snapshot.position) is not the base's", at: snapshot.place)
    }
  }

  // MARK: - Parts

  private func checkParts(_ snapshot: Snapshot) throws {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT part, digest, bytes FROM snapshot_part WHERE snapshot = ? ORDER BY part",
      arguments: [snapshot.row])
    var (count, bytes): (Int64, Int64) = (0, 0)
    func add(_ what: String) throws { try findings.add(.snapshotPart, what, at: snapshot.place) }
    while let row = try rows.next() {
      let (part, content): (Int64, Data) = (row[0], row[2])
      if !(0..<max(0, snapshot.parts)).contains(part) {
        try add("it has no part \(part), and one is here")
      } else if PartDigest(part: Array(content)).bytes != Array(row[1] as Data) {
        try add("the digest of part \(part) is not that of its bytes")
      }
      count += 1
      bytes += Int64(content.count)
    }
    if bytes != snapshot.bytes {
      try add("its parts have \(bytes) bytes, and it says \(snapshot.bytes)")
    }
    if snapshot.isComplete, count != snapshot.parts {
      try add("it has \(count) of \(snapshot.parts) parts, and is said to be whole")
    } else if !snapshot.isComplete {
      try findings.add(
        .snapshotUpload,
        snapshot.isRefused
          ? "it was refused, and is let go in a day; 'tern snapshot list' says why"
          : "it is being uploaded, and has \(count) of \(snapshot.parts) parts", at: snapshot.place)
    }
  }

  // MARK: - Heads

  /// As ``SnapshotAdmission`` let it in: every author's next operation comes after the cursor.
  private func check(
    _ snapshot: Snapshot, _ offered: [ReplicaID: SnapshotHead], _ heads: [ReplicaID: AuthorHead],
    base: Int64
  ) throws {
    let place = try db.cachedStatement(
      sql: "SELECT position FROM operation WHERE space = ? AND author = ? AND sequence = ?")
    func add(_ what: String, _ author: ReplicaID, _ sequence: UInt64) throws {
      try findings.add(
        .snapshotHeads, what,
        at: .init(
          author: author, sequence: sequence, name: "snapshot \(snapshot.name)"))
    }
    for (author, head) in heads.sorted(by: { $0.key < $1.key }) {
      let last = offered[author]
      if let last, last.sequence == head.sequence, last.time != head.time {
        try add("it has another time for the operation than the space", author, last.sequence)
      }
      let next = (last?.sequence ?? 0).addingReportingOverflow(1).partialValue
      guard next <= head.sequence else { continue }
      let position = try Int64.fetchOne(
        place, arguments: [space.id, author.data, Int64(clamping: next)])
      // One that is nowhere came with a base.
      if position ?? base <= snapshot.position {
        try add("it lacks an operation that it stands for", author, next)
      }
    }
    // A base is ahead until it is complete.
    if snapshot.isBase, !snapshot.isComplete { return }
    for (author, last) in offered.sorted(by: { $0.key < $1.key })
    where last.sequence > heads[author]?.sequence ?? 0 {
      try add("it has an operation that the space was never given", author, last.sequence)
    }
  }
}
#endif
