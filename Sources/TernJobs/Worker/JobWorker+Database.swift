import GRDB
import TernCore

/// The database, as the one worker uses it.
extension JobWorker {
  /// Reads, decides and writes in one transaction, waiting while another process is in the way.
  /// `body` can run again, after all that it wrote was rolled back.
  func write<T>(_ body: (JobRows) throws -> T) async throws -> T {
    try await persistently { try writeOnce(body) }
  }

  func read<T>(_ body: (JobRows) throws -> T) async throws -> T {
    try await persistently { try readOnce(body) }
  }

  func persistently<T>(_ body: () throws -> T) async throws -> T {
    var backoff = Backoff(base: .milliseconds(10), limit: .seconds(1))
    while true {
      if let failure { throw failure }
      do {
        return try body()
      } catch let error as DatabaseError
        where error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
      {
        let environment = queue.environment
        try await environment.clock.sleep(for: backoff.next(jitter: environment.jitter()))
      }
    }
  }

  private func writeOnce<T>(_ body: (JobRows) throws -> T) throws -> T {
    try queue.database.write { db in try body(JobRows(db, limits: queue.limits)) }
  }

  private func readOnce<T>(_ body: (JobRows) throws -> T) throws -> T {
    try queue.database.read { db in try body(JobRows(db, limits: queue.limits)) }
  }
}
