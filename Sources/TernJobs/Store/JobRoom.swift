import TernCore
import TernDatabase

/// Who waits for room: jobs that were refused what they enqueue, because too many had not ended.
struct JobRoom: Sendable {
  /// How many had not ended as each was refused. With fewer there is more room than it found.
  var refusedAt: [JobID: Int] = [:]
  /// How many have not ended now, and with them those who run again and may each take a place.
  var count = 0

  func holds(_ job: JobID) -> Bool { refusedAt[job].map { $0 <= count } ?? false }
}

extension JobRows {
  func unfinished() throws -> Int {
    let statement = try FastStatement(db, Self.counted)
    return try statement.first { statement.int(0) }!
  }

  private static let counted = "SELECT unfinished FROM \(JobTables.queue)"

  /// What is known of room, of jobs that are as they were left.
  ///
  /// - Parameter going: those that run.
  func room(_ refusedAt: [JobID: Int], going: Set<JobID>) throws -> JobRoom {
    if refusedAt.isEmpty { return JobRoom() }
    let statement = try FastStatement(db, Self.left)
    let refusedAt = try refusedAt.filter { job, _ in
      if going.contains(job) { return true }
      statement.bindAll(job.rawValue)
      return try statement.first { true } ?? false
    }
    let count = try unfinished() + refusedAt.keys.count(where: going.contains)
    return JobRoom(refusedAt: refusedAt, count: count)
  }

  // One that took its place, or its number, has not failed yet.
  private static let left = """
    SELECT 1 FROM \(JobTables.job)
    WHERE id = ? AND state = \(JobState.waiting.rawValue) AND reason IS NOT NULL
    """
}
