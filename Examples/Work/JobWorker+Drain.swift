import Foundation
import GRDB
import Tern
import TernJobs

extension JobWorker {
  /// Works until nothing is due within a time, counted from then: the worker counts from its call,
  /// and what it has to do can take as long. Of what waits for a service's pause or the network it
  /// decides alone, or a service that wants no requests would keep this here for ever.
  ///
  /// - Returns: what waits.
  package func drain(
    whileDueWithin patience: TimeInterval, _ jobs: JobQueue, _ database: any DatabaseReader
  ) async throws -> [JobWait] {
    while true {
      let waits = try await drain(waiting: .seconds(patience))
      let records = try await database.read { try jobs.records(in: $0) }
      let unreached = Set(records.filter { $0.unreached > 0 }.map(\.id))
      let now = Date()
      let isDue = waits.contains { wait in
        guard case .time(let date) = wait.reason, !unreached.contains(wait.job) else {
          return false
        }
        return now < date && date < now + patience
      }
      guard isDue else { return waits }
    }
  }
}
