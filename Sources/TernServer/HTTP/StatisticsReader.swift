#if Server
import Logging

/// Reads what the store says of itself: once at the start, and once a minute where somebody can
/// scrape it. That is rare, as it may read a row of each space.
struct StatisticsReader: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let metrics: ServerMetrics
  let repeats: Bool
  let logger: Logger

  private static let interval = Duration.seconds(60)

  /// Returns when its task is cancelled, or when it doesn't repeat.
  func run() async {
    var isFirst = true
    while true {
      do {
        let statistics = try await queue.read { try service.store.statistics() }
        metrics.read(statistics)
        if isFirst, let database = statistics.database { warn(of: database) }
        isFirst = false
      } catch {
        metrics.storeFailed()
        logger.failure("the store's statistics could not be read", error)
      }
      guard repeats else { return }
      do {
        // An injected default: whoever watches the server is outside a simulation.
        try await Task.sleep(for: Self.interval)
      } catch {
        return
      }
    }
  }

  private func warn(of database: DatabaseStatistics) {
    if !database.waitsForStandby {
      logger.warning(
        "commits wait for no standby, so a failover can lose the pushes acknowledged last",
        metadata: ["try": "set synchronous_standby_names, with synchronous_commit = on"])
    }
    if repeats, database.oldestSnapshot == nil {
      logger.warning(
        "the database hides other roles' transactions, so no metric tells of old snapshots",
        metadata: ["try": "GRANT pg_read_all_stats to the role of tern"])
    }
  }
}
#endif
