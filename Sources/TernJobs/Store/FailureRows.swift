import GRDB
import TernCore

/// How attempts failed.
struct FailureRows {
  let connection: JobConnection

  /// Keeps the newest of a job's failures, and before those that cost nothing the ones that
  /// counted: an hour without a network has more of the others than there is room for.
  ///
  /// - Parameter counts: whether it was one attempt less for the job, or the last.
  func add(
    _ reason: String, start: Int, of job: JobID, counts: Bool, at now: WallTime
  ) throws {
    let limits = connection.limits
    try connection.run(
      "INSERT INTO \(JobTables.error) (job, start, at_ms, reason, counts) VALUES (?, ?, ?, ?, ?)",
      [job.rawValue, start, now.milliseconds, limits.cut(reason), counts])
    try connection.run(
      """
      DELETE FROM \(JobTables.error) WHERE id IN (
        SELECT id FROM \(JobTables.error) WHERE job = ?
        ORDER BY counts DESC, id DESC LIMIT -1 OFFSET ?)
      """, [job.rawValue, limits.failedAttemptsPerJob])
  }

  func all(of job: JobID) throws -> [FailedAttempt] {
    try connection.rows(
      "SELECT start, at_ms, reason FROM \(JobTables.error) WHERE job = ? ORDER BY id",
      [job.rawValue]
    ).map { FailedAttempt(start: $0[0], at: WallTime(milliseconds: $0[1]).date, reason: $0[2]) }
  }

  func drop(of job: JobID) throws {
    try connection.run("DELETE FROM \(JobTables.error) WHERE job = ?", [job.rawValue])
  }
}
