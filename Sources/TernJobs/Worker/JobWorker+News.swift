import GRDB
import TernCore

/// What happens outside of the worker and matters to it.
extension JobWorker {
  // MARK: - Other processes, and the clock

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
        signals.wake()
      } else {
        // Also while all slots are busy and nobody looks for jobs.
        latest = now
      }
    }
  }

  private func lookForCommits() async {
    do {
      let now = try await database.version()
      guard now != ofRun.seen else { return }
      ofRun.seen = now
      try await database.write { rows in
        for table in [JobTables.job, JobTables.gate] {
          try rows.db.notifyChanges(in: Table(table))
        }
      }
      // A job may have been cancelled.
      try await transfers?.cancelUnwanted()
      signals.wake()
    } catch {
      if !Task.isCancelled { signals.fail(error) }
    }
  }

  // MARK: - The network

  /// Over how long those spread who reached nobody, as another network is there.
  static let spread = Duration.seconds(30)

  func followPath(from generation: UInt64) async {
    var generation = generation
    for await path in path.changes() where path.generation != generation {
      generation = path.generation
      // Before the database, which somebody may keep.
      ofRun.attempts.endUnmet(isMet)
      guard path.hasRoute else {
        // Who requires a network waits for it from now on, and it is seen.
        signals.wake()
        continue
      }
      do {
        try await networkChanged()
      } catch {
        if !Task.isCancelled { signals.fail(error) }
      }
    }
  }

  /// Another network is there: whoever reached nobody tries again soon, and the failures of
  /// services are forgotten.
  func networkChanged() async throws {
    let environment = queue.environment
    ofRun.restoreAt = try await database.write { rows in
      let now = environment.now
      let restoreAt = try rows.buckets.restore(at: now)
      // The view shows budgets, whose table GRDB does not observe.
      try rows.db.notifyChanges(in: Table(JobTables.job))
      try rows.wakeUnreached(at: now) {
        Self.spread * min(max(environment.jitter(), 0), 1)
      }
      return restoreAt
    }
    signals.wake()
  }

  /// Restores the budgets that were too soon to be when the network changed.
  func restoreBudgets() async throws {
    let environment = queue.environment
    guard let time = ofRun.restoreAt, time <= environment.now else { return }
    ofRun.restoreAt = try await database.write { rows in
      try rows.db.notifyChanges(in: Table(JobTables.job))
      return try rows.buckets.restore(at: environment.now)
    }
  }
}
