#if Server
import Logging
import TernCore

/// Maintains every space now and then, and one at once when an upload has left something to remove.
///
/// One short transaction after the other in the queue of writes, so that pushes come between them.
struct Maintenance: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let interval: Duration
  let metrics: ServerMetrics
  let logger: Logger
  /// `nil` is all spaces. What doesn't fit comes with the next round.
  private let wanted: AsyncStream<SpaceName?>
  private let wants: AsyncStream<SpaceName?>.Continuation

  init(
    service: SpaceService, queue: StoreQueue, interval: Duration, metrics: ServerMetrics,
    logger: Logger
  ) {
    self.service = service
    self.queue = queue
    self.interval = interval
    self.metrics = metrics
    self.logger = logger
    (wanted, wants) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1_000))
  }

  func ask(for space: SpaceName) { wants.yield(space) }

  /// For what removed spaces held.
  func askForRemoved() { wants.yield(Self.removed) }

  /// Returns when its task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await tick() }
      for await space in wanted {
        if let space { await maintain(space) } else { await maintainAll() }
      }
      group.cancelAll()
    }
  }

  /// Whose turn it is while removed spaces' rows go; no space has such a name.
  private static let removed = SpaceName(stored: ".removed")

  private func maintainAll() async {
    do {
      let spaces = try await queue.read { try service.store.spaces() }
      service.leases.keep(only: Set(spaces))
      // First, as what follows may fail for want of room.
      if let shortage = try await queue.read({ try service.reserve.shortage() }) {
        logger.warning("nothing new is stored", metadata: ["why": "\(shortage)"])
      }
      for space in spaces { await maintain(space) }
      try await removeRemains()
      while try await queue.read({ try service.reserve.shortage() }) != nil,
        try await queue.write(to: Self.removed, { try service.reserve.giveUpKept() }) != nil
      {}
      for space in service.givenUp.take() {
        logger.warning(
          "the disk is short, so what was kept for 'tern space restore' is gone",
          metadata: ["space": "\(space)"])
      }
      metrics.maintained()
    } catch is CancellationError {
      // The server ends.
    } catch {
      metrics.storeFailed()
      logger.failure("maintenance failed", error)
    }
  }

  /// Nothing is lost by doing it later, and a space where it fails doesn't keep it from others.
  private func maintain(_ space: SpaceName) async {
    do {
      if space == Self.removed { return try await removeRemains() }
      while !Task.isCancelled, try await maintainSome(of: space) {}
    } catch is CancellationError {
      // The server ends.
    } catch {
      metrics.storeFailed()
      logger.failure("the maintenance of a space failed", error)
    }
  }

  private func removeRemains() async throws {
    while try await queue.write(to: Self.removed, { try service.removeRemains() }) {}
  }

  /// Leaves the space to another process for a second: that one may maintain it too. One that is
  /// written to all the time is waited for then.
  private func maintainSome(of space: SpaceName) async throws -> Bool {
    for _ in 0..<20 {
      let hasMore = try await queue.write(to: space) {
        try SpaceMaintenance(service: service).runUnlessLocked(space)
      }
      if let hasMore { return hasMore }
      // An injected default: a simulation's store has no other process.
      try await Task.sleep(for: .milliseconds(50))
    }
    return try await queue.write(to: space) { try service.maintain(space) }
  }

  private func tick() async {
    while true {
      do {
        // An injected default: when a server tidies up is no part of what a simulation decides.
        try await Task.sleep(for: interval)
      } catch {
        return
      }
      wants.yield(nil)
    }
  }
}
#endif
