import GRDB
import TernCore

/// What happens outside of the worker and matters to it.
extension JobWorker {
  /// Queues tell of commits, this process's own among them.
  func followOtherProcesses(by events: AsyncStream<Void>) async {
    for await _ in events {
      await lookForCommits()
      // Many commits in a row are one piece of news. Cancelled, the stream ends.
      try? await queue.environment.clock.sleep(for: .milliseconds(5))
    }
  }

  /// - Parameter isTold: whether the system tells of commits by others' queues.
  func lookNowAndThen(isTold: Bool) async {
    let environment = queue.environment
    let interval = isTold ? environment.clockInterval : environment.pollInterval
    // The sleep throws when the run is cancelled, and then this ends.
    while (try? await environment.sleep(for: interval)) != nil {
      // What another program wrote, not by a queue, tells nobody.
      await lookForCommits()
      // The wall clock can have been set, ahead or back, while the other slept.
      let now = environment.now
      if ofRun.nextAt.map({ $0 <= now }) ?? false || now < latest {
        ofRun.news?.yield()
      } else {
        // Also while all slots are busy and nobody looks for jobs.
        latest = now
      }
    }
  }

  private func lookForCommits() async {
    do {
      let now = try await dataVersion()
      guard now != ofRun.seen else { return }
      ofRun.seen = now
      try await tellObservers()
      // A job may have been cancelled.
      try await cancelUnwanted()
      ofRun.news?.yield()
    } catch {
      if !Task.isCancelled { fail(error) }
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

  func followPath(from generation: UInt64) async {
    var generation = generation
    for await path in path.changes() where path.generation != generation {
      generation = path.generation
      // Before the database, which somebody may keep.
      endUnmet()
      guard path.hasRoute else {
        // Who requires a network waits for it from now on, and it is seen.
        ofRun.news?.yield()
        continue
      }
      do {
        try await networkChanged()
      } catch {
        if !Task.isCancelled { fail(error) }
      }
    }
  }
}
