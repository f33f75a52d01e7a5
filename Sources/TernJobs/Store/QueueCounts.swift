import GRDB
import TernCore
import TernDatabase

/// The queue's own row: its random id, how many jobs it has, and which worker works.
struct QueueCounts {
  let connection: JobConnection

  // MARK: - How many

  func unfinished() throws -> Int { try count(Self.counted) }

  func ended() throws -> Int { try count(Self.endedCounted) }

  private func count(_ sql: String) throws -> Int {
    let statement = try FastStatement(connection.db, sql)
    return try statement.first { statement.int(0) }!
  }

  /// - Throws: ``JobQueueError`` `.tooManyJobs`.
  func addUnfinished() throws {
    let limits = connection.limits
    let isFollowUp = AttemptCommit.database == ObjectIdentifier(connection.db)
    let limit = isFollowUp ? limits.jobsAndFollowUps : limits.jobs
    let statement = try FastStatement(connection.db, Self.addition)
    statement.bindAll(Planted.isActive(.limitIgnored) ? Int.max : limit)
    if try !statement.runCounting() {
      var error = JobQueueError(
        .tooManyJobs,
        "the queue holds \(limit) jobs that have not ended; let them run or remove some")
      if let queue = try connection.row("SELECT id FROM \(JobTables.queue)") {
        error.full = .init(queue: queue[0], count: try unfinished())
      }
      throw error
    }
  }

  func removeUnfinished() throws {
    try connection.run("UPDATE \(JobTables.queue) SET unfinished = unfinished - 1")
  }

  /// Of so many that have ended, and so many that are kept no longer.
  func conclude(_ count: Int, removed: Int) throws {
    let counting = try FastStatement(connection.db, Self.counting)
    counting.bindAll(count, count - removed)
    try counting.run()
  }

  func removeEnded() throws {
    try connection.run("UPDATE \(JobTables.queue) SET ended = ended - 1")
  }

  private static let counted = "SELECT unfinished FROM \(JobTables.queue)"
  private static let endedCounted = "SELECT ended FROM \(JobTables.queue)"
  private static let addition =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished + 1 WHERE unfinished < ?"
  private static let counting =
    "UPDATE \(JobTables.queue) SET unfinished = unfinished - ?, ended = ended + ?"

  // MARK: - Who works

  func takeOver() throws { try connection.run("UPDATE \(JobTables.queue) SET worker = worker + 1") }

  func worker() throws -> Int64 {
    try connection.row("SELECT worker FROM \(JobTables.queue)")![0]
  }
}
