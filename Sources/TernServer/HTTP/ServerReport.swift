#if Server
import TernCore

/// What the server tells of itself when it is scraped. Nothing in it waits for the store.
struct ServerReport: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let metrics: ServerMetrics
  let ready: ReadyCheck
  let connections: ConnectionBook
  let received: BodyBudget
  let sent: BodyBudget

  var text: String {
    var text = MetricsText()
    let counts = metrics.counts
    text.add(.requests, counts.requests)
    text.add(.requestTime, by: "route", counts.times)
    text.add(.refusals, by: "code", counts.refusals)
    text.add(.pushes, counts.pushes)
    text.add(.operations, counts.operations)
    text.add(.storeErrors, counts.storeErrors)
    text.add(.ready, ready.isReady ? 1 : 0)
    text.add(.waiting, by: "queue", queue.waiting)
    text.add(.eventStreams, service.board.count)
    text.add(.connections, connections.count)
    text.add(.connectionLimit, service.limits.connections)
    text.add(.bodyBytes, by: "direction", ["in": received.used, "out": sent.used])
    text.add(.maintenanceAge, metrics.now() - counts.maintained)
    addStore(counts.statistics, to: &text)
    return text.text
  }

  private func addStore(
    _ read: (statistics: StoreStatistics, at: ContinuousClock.Instant)?, to text: inout MetricsText
  ) {
    text.add(.statisticsAge, read.map { metrics.now() - $0.at })
    text.add(.spaces, read?.statistics.spaces)
    text.add(.storedBytes, read?.statistics.bytes)
    text.add(.keptBytes, read?.statistics.keptBytes)
    text.add(.diskFreeBytes, service.disk.freeBytes)
    let connections = service.store.connections
    text.add(.databaseConnections, connections?.inUse)
    text.add(.databaseConnectionLimit, connections?.limit)
    let database = read?.statistics.database
    text.add(.oldestSnapshot, database?.oldestSnapshot)
    text.add(.waitsForStandby, database.map { $0.waitsForStandby ? 1 : 0 })
    text.add(.standbyLag, database?.standbyLagBytes)
  }
}
#endif
