import GRDB
import TernCore

/// What another network means for those who wait.
extension JobWorker {
  /// Over how long those spread who reached nobody, as another network is there.
  static let spread = Duration.seconds(30)

  /// Another network is there: whoever reached nobody tries again soon, and the failures of
  /// services are forgotten.
  func networkChanged() async throws {
    let environment = queue.environment
    ofRun.restoreAt = try await write { rows in
      let now = environment.now
      let restoreAt = try rows.restoreBudgets(at: now)
      // The view shows budgets, whose table GRDB does not observe.
      try rows.db.notifyChanges(in: Table(JobTables.job))
      try rows.wakeUnreached(at: now) {
        Self.spread * min(max(environment.jitter(), 0), 1)
      }
      return restoreAt
    }
    ofRun.news?.yield()
  }

  /// Restores the budgets that were too soon to be when the network changed.
  func restoreBudgets() async throws {
    let environment = queue.environment
    guard let time = ofRun.restoreAt, time <= environment.now else { return }
    ofRun.restoreAt = try await write { rows in
      try rows.db.notifyChanges(in: Table(JobTables.job))
      return try rows.restoreBudgets(at: environment.now)
    }
  }
}
