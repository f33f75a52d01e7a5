#if Server
import Dispatch
import Logging

/// Tells other processes at once which spaces this one moved, and whoever listens here what others
/// tell, where a store can.
///
/// Both are hints: what is lost ``HeadReader`` finds.
struct AnnouncementRelay: Sendable {
  private let heads: HeadReader
  private let service: SpaceService
  private let logger: Logger

  /// How often it tells at most: NOTIFY takes a lock of the whole database.
  private static let interval = Duration.milliseconds(10)
  /// For so long a thread waits for news, and the server's end for that.
  private static let wait = Duration.seconds(1)

  init(heads: HeadReader, logger: Logger) {
    (self.heads, service, self.logger) = (heads, heads.service, logger)
  }

  /// Returns when its task is cancelled, and at once where nobody is told.
  func run() async {
    guard service.store.announces else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await tell() }
      await hear()
      group.cancelAll()
    }
  }

  /// At the leading edge, and then now and then.
  private func tell() async {
    for await _ in service.moved.wakes {
      let spaces = service.moved.take()
      // A wake can be for what the one before has taken.
      guard !spaces.isEmpty else { continue }
      do {
        try await heads.queue.read { try service.store.announce(spaces) }
      } catch {
        logger.failure("other processes could not be told of pushes", error)
      }
      // An injected default: a simulation's store has no other process. Cancellation ends the loop.
      guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
    }
  }

  private func hear() async {
    let thread = DispatchQueue(label: "tern.server.announcements")
    var hasFailed = false
    while !Task.isCancelled {
      do {
        let spaces = try await withCheckedThrowingContinuation { continuation in
          thread.async {
            continuation.resume(
              with: Result { try service.store.announced(within: Self.wait) })
          }
        }
        if !spaces.isEmpty { try await heads.read(spaces) }
        hasFailed = false
      } catch {
        if !hasFailed { logger.failure("other processes are not heard; heads are read", error) }
        hasFailed = true
        // An injected default, as above. Cancellation ends the loop.
        _ = try? await Task.sleep(for: Self.wait)
      }
    }
  }
}
#endif
