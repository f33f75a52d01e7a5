import GRDB
import TernCore

/// What happens outside of the worker and matters to it.
extension JobWorker {
  /// Commits of other processes are found by looking.
  ///
  /// - Parameter seen: the database's version before the worker looked at it first.
  func followOtherProcesses(since seen: Int64?) async {
    let environment = queue.environment
    var version = seen
    // The sleep throws when the run is cancelled, and then this ends.
    while (try? await environment.clock.sleep(for: environment.pollInterval)) != nil {
      do {
        let now = try await dataVersion()
        if now != version {
          try await tellObservers()
          news?.yield()
        }
        version = now
      } catch {
        return Task.isCancelled ? () : fail(error)
      }
      // The wall clock can have been set, ahead or back, while the other slept.
      let now = environment.now
      if nextAt.map({ $0 <= now }) ?? false || now < latest {
        news?.yield()
      } else {
        // Also while all slots are busy and nobody looks for jobs.
        latest = now
      }
    }
  }

  /// Another number after each commit of another process.
  func dataVersion() async throws -> Int64? { try await persistently { try dataVersionOnce() } }

  private func dataVersionOnce() throws -> Int64? {
    try queue.database.writeWithoutTransaction {
      try Int64.fetchOne($0, sql: "PRAGMA data_version")
    }
  }

  private func tellObservers() async throws {
    try await write { rows in
      for table in [JobTables.job, JobTables.gate] { try rows.db.notifyChanges(in: Table(table)) }
    }
  }

  func followPath() async {
    var generation = path.path.generation
    for await path in path.changes() where path.generation != generation {
      generation = path.generation
      guard path.hasRoute else { continue }
      do {
        try await write { try $0.wakeUnreached(at: queue.environment.now) }
        news?.yield()
      } catch {
        if !Task.isCancelled { fail(error) }
      }
    }
  }
}
