import GRDB
import TernCore

/// What is known of lanes whose credentials were refused.
struct CredentialRows {
  let connection: JobConnection

  func credential(_ lane: JobLane) throws -> CredentialLife? {
    try connection.row(
      "SELECT * FROM \(JobTables.credential) WHERE kind = ? AND lane = ?", [lane.kind, lane.name]
    ).map(CredentialLife.init)
  }

  func tell(_ lane: JobLane, _ event: CredentialLife.Event, at now: WallTime) throws {
    let before = try credential(lane)
    let life = CredentialLife.after(event, before, at: now)
    if life == before { return }
    guard let life else {
      try connection.run(
        "DELETE FROM \(JobTables.credential) WHERE kind = ? AND lane = ?", [lane.kind, lane.name])
      return
    }
    try connection.run(
      """
      INSERT INTO \(JobTables.credential) (kind, lane, since_ms, refused, is_held)
      VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET since_ms = excluded.since_ms, refused = excluded.refused,
        is_held = excluded.is_held
      """,
      [
        lane.kind, lane.name, life.since.milliseconds, life.refused.map { Int64($0.value) },
        life.isHeld,
      ])
  }

  /// Those in which no job is started.
  func heldLanes() throws -> Set<JobLane> {
    Set(
      try connection.rows("SELECT kind, lane FROM \(JobTables.credential) WHERE is_held = 1")
        .map { JobLane(kind: $0[0], name: $0[1]) })
  }

  /// There may be other credentials: the next attempts find out.
  ///
  /// - Parameter kind: `nil` for all.
  func release(of kind: String?, at now: WallTime) throws {
    let all = try connection.rows("SELECT kind, lane FROM \(JobTables.credential)")
    for lane in all.map({ JobLane(kind: $0[0], name: $0[1]) })
    where kind.map({ ExactText($0) == ExactText(lane.kind) }) ?? true {
      try tell(lane, .changed, at: now)
    }
  }
}

extension CredentialLife {
  fileprivate init(_ row: Row) {
    self.init(
      since: WallTime(milliseconds: row["since_ms"]),
      refused: (row["refused"] as Int64?).map {
        CredentialMark(value: UInt32(truncatingIfNeeded: $0))
      },
      isHeld: row["is_held"])
  }
}
