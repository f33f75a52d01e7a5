#if Server
import Logging
import Synchronization
import TernCore

/// Finds what other processes do to the spaces to which somebody listens: it reads the heads of all
/// of them by one query a second.
struct HeadReader: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let times: PeriodicCheck.Times
  let metrics: ServerMetrics
  let logger: Logger
  private let timeline: SeenTimeline

  init(
    service: SpaceService, queue: StoreQueue, times: PeriodicCheck.Times, metrics: ServerMetrics,
    logger: Logger
  ) {
    (self.service, self.queue, self.times) = (service, queue, times)
    (self.metrics, self.logger) = (metrics, logger)
    timeline = SeenTimeline(service.store.timeline)
  }

  /// Returns when its task is cancelled.
  func run() async {
    await PeriodicCheck(
      failure: "what other processes do to spaces is not found", times: times, logger: logger
    ) {
      do {
        try await read()
      } catch {
        metrics.storeFailed()
        throw error
      }
    } onSilence: {
      service.board.finishAll()
    }.run()
  }

  /// - Parameter moved: those that are looked at; `nil` for all.
  func read(_ moved: Set<SpaceName>? = nil) async throws {
    let streams = service.board.streams(of: moved)
    guard !streams.isEmpty, moved != nil || !Planted.isActive(.headsUnread) else { return }
    let spaces = Array(Set(streams.map(\.space)))
    let heads = try await queue.read { try service.store.heads(of: spaces) }
    for stream in streams {
      // This process itself may wait for a space that is not there yet.
      let beginning = stream.listener.grant == nil ? SpaceHead() : nil
      // The space was removed, or moved to another store.
      guard let head = heads[stream.space] ?? beginning else {
        stream.listener.finish()
        continue
      }
      // The store can have lost what was told, as after a failover.
      if head.canFollow(stream.told) || Planted.isActive(.greatestHead) {
        stream.listener.advance(to: head)
      } else {
        stream.listener.goBack(to: head)
      }
    }
    leaveOldTimeline()
  }

  /// After a failover nobody here may have been told of what is lost, and yet devices have it
  /// acknowledged: all of them ask anew where their spaces are.
  private func leaveOldTimeline() {
    if timeline.hasChanged(to: service.store.timeline) { service.board.finishAll() }
  }
}

/// The timeline that was seen last.
private final class SeenTimeline: Sendable {
  private let seen: Mutex<UInt64>

  init(_ timeline: UInt64) { seen = Mutex(timeline) }

  func hasChanged(to timeline: UInt64) -> Bool {
    seen.withLock { seen in
      defer { seen = timeline }
      return seen != timeline
    }
  }
}
#endif
