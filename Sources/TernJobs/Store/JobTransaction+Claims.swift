import Foundation
import GRDB
import TernCore
import TernDatabase

/// What a worker reads as it looks for jobs, each over several tables.
extension JobTransaction {
  /// What a look for jobs begins with.
  struct Outset {
    /// The queue's random id.
    let queue: String
    let hasGates: Bool
    let hasPauses: Bool
    /// What jobs require was not there.
    let hasUnmet: Bool
    /// Credentials of lanes were refused.
    let hasHeldLanes: Bool
    /// When the first of the jobs that are not due is.
    let next: WallTime?
  }

  /// A lock file that somebody removes lets two workers run. The second has freed what the first
  /// ran, and the first is to start nothing any more.
  ///
  /// - Parameter own: what ``recover(kinds:leftBehind:at:)`` said.
  /// - Throws: ``JobQueueError`` `.workerRunning`.
  func outset(_ own: Int64) throws -> Outset {
    let statement = try FastStatement(db, Self.outset)
    let outset = try statement.first {
      statement.int64(0) == own
        ? Outset(
          queue: statement.text(1), hasGates: statement.bool(2), hasPauses: statement.bool(3),
          hasUnmet: statement.bool(4), hasHeldLanes: statement.bool(5),
          next: statement.isNull(6) ? nil : WallTime(milliseconds: statement.int64(6)))
        : nil
    }
    if let outset = outset ?? nil { return outset }
    throw JobQueueError(
      .workerRunning, "another worker has taken over; was its lock file removed?")
  }

  private static let outset = """
    SELECT worker, id, EXISTS (SELECT 1 FROM \(JobTables.gate)),
      EXISTS (SELECT 1 FROM \(JobTables.pause)), EXISTS (SELECT 1 FROM \(JobTables.unmet)),
      EXISTS (SELECT 1 FROM \(JobTables.credential) WHERE is_held = 1),
      (SELECT min(ready_ms) FROM \(JobTables.job) WHERE \(JobTables.isLater))
    FROM \(JobTables.queue)
    """

  /// What is known of room, of jobs that are as they were left.
  ///
  /// - Parameter going: those that run.
  func room(_ refusedAt: [JobID: Int], going: Set<JobID>) throws -> JobRoom {
    if refusedAt.isEmpty { return JobRoom() }
    let known = going.union(try jobs.failed(refusedAt.keys))
    let refusedAt = refusedAt.filter { known.contains($0.key) }
    let count = try queue.unfinished() + refusedAt.keys.count(where: going.contains)
    return JobRoom(refusedAt: refusedAt, count: count)
  }

  /// What a job is claimed with.
  struct Content {
    let payload: Data
    let version: Int
    let starts: Int
    let enqueued: WallTime
    let since: WallTime
    let hasFiles: Bool
    let life: JobLife
  }

  /// Of a job that waits.
  func content(of job: JobID) throws -> Content {
    let row = try FastStatement(db, Self.content)
    row.bindAll(job.rawValue)
    return try row.first {
      Content(
        payload: Data(row.blob(0)), version: row.int(1), starts: row.int(2),
        enqueued: WallTime(milliseconds: row.int64(3)),
        since: WallTime(milliseconds: row.int64(8)), hasFiles: row.bool(7),
        life: JobLife(
          state: .waiting, failures: row.int(4), unreached: row.int(5), deaths: row.int(6)))
    }!
  }

  private static let content = """
    SELECT payload, version, starts, enqueued_ms, failures, unreached, deaths,
      EXISTS (SELECT 1 FROM \(JobTables.file) WHERE job = ?1), since_ms
    FROM \(JobTables.job) WHERE id = ?1
    """

  /// When the first job can run that waits for a time or a gate, and neither for the network, nor
  /// for a pace, nor to be resumed.
  ///
  /// - Parameter now: when jobs were looked for; a gate that let its probe pass then holds nobody.
  func nextReached(at now: WallTime, _ isMet: (String) -> Bool) throws -> WallTime? {
    let found = try connection.rows(
      """
      SELECT j.needs, min(max(j.ready_ms, coalesce(g.reopens_ms, j.ready_ms)))
      FROM \(JobTables.job) AS j LEFT JOIN \(JobTables.gate) AS g ON g.service = j.service
      WHERE j.\(JobTables.isWaiting) AND (j.unreached = 0 OR g.reopens_ms > ?)
        AND (j.due = 0 OR g.reopens_ms > ?)
        AND NOT EXISTS (SELECT 1 FROM \(JobTables.pause) AS p WHERE p.kind IN ('', j.kind))
      GROUP BY j.needs
      """, [now.milliseconds, now.milliseconds])
    return found.filter { isMet($0[0]) }.map { WallTime(milliseconds: $0[1]) }.min()
  }
}
