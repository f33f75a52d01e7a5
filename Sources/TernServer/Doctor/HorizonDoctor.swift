#if Server
import Foundation
import GRDB
import TernCore

/// Looks at what moves a space's horizon, its leases and marks, and at its state report.
struct HorizonDoctor {
  private let db: Database
  private let space: SpacePlaces
  private let findings: Findings

  init(_ db: Database, _ space: SpacePlaces, _ findings: Findings) {
    (self.db, self.space, self.findings) = (db, space, findings)
  }

  /// - Parameter format: the file's; not each has state reports.
  func run(format: Int32) throws {
    try checkLeases()
    try checkMarks(in: "mark", through: space.position)
    if format >= 6 { try checkMarks(in: "trim_mark", through: space.trimmed) }
    if format >= 4 { try checkState() }
  }

  private func checkLeases() throws {
    let rows = try Row.fetchCursor(
      db, sql: "SELECT replica, position FROM lease WHERE space = ?", arguments: [space.id])
    while let row = try rows.next() {
      let (replica, position) = (ReplicaID(bytes: row[0] as Data), row[1] as Int64)
      let place = DatabaseFinding.Place(name: "replica \(replica?.description ?? "without an id")")
      if replica == nil || !(0...space.position).contains(position) {
        try findings.add(
          .lease, "the lease is at \(position), and the space ends at \(space.position)", at: place)
      } else if position < space.trimmed {
        try findings.add(
          .leaseBehind, "the lease is at \(position), and \(space.trimmed) are trimmed", at: place)
      }
    }
  }

  /// Later ones are of later positions.
  private func checkMarks(in table: String, through end: Int64) throws {
    var last = Int64.min
    let rows = try Row.fetchCursor(
      db, sql: "SELECT position, at_ms FROM \(table) WHERE space = ? ORDER BY position",
      arguments: [space.id])
    while let row = try rows.next() {
      let (position, time): (Int64, Int64) = (row[0], row[1])
      if position < 1 || position > end || time < last {
        try findings.add(
          .mark, "the mark is beyond the space or not in its order",
          at: .init(name: "position \(position)"))
      }
      last = time
    }
  }

  private func checkState() throws {
    let row = try Row.fetchOne(
      db, sql: "SELECT position, is_disputed, report FROM state WHERE space = ?",
      arguments: [space.id])
    guard let row else { return }
    let position: Int64 = row[0]
    let place = DatabaseFinding.Place(name: "position \(position)")
    // What it throws is that it is no report.
    guard let report = try? JSONDecoder().decode(StateReport.self, from: row[2] as Data),
      position > 0, try space.owns(report.cursor, at: position, db)
    else {
      return try findings.add(
        .stateReport, "the report cannot be read, or is not of its position", at: place)
    }
    guard row[1] as Bool else { return }
    let covered = try Int64.fetchOne(
      db,
      sql: """
        SELECT max(position) FROM snapshot
        WHERE space = ? AND name IS NOT NULL AND is_complete
        """, arguments: [space.id])
    if covered ?? 0 < position {
      try findings.add(
        .stateDisputed, "two replicas reported other states, and no snapshot is of it yet",
        at: place)
    }
  }
}
#endif
