#if Server
import Logging

/// Finds what other processes push, where a store has several: it reads the heads of the spaces to
/// which somebody listens, all by one query.
struct HeadReader: Sendable {
  let service: SpaceService
  let queue: StoreQueue
  let logger: Logger

  private static let interval = Duration.seconds(1)

  /// Returns when its task is cancelled, and at once where no other process can push.
  func run() async {
    var hasFailed = false
    while true {
      do {
        guard try await queue.read({ try service.tellOtherProcesses() }) else { return }
        hasFailed = false
      } catch {
        if !hasFailed { logger.failure("other processes' pushes are not found", error) }
        hasFailed = true
      }
      do {
        // An injected default: a simulation's store has no other process.
        try await Task.sleep(for: Self.interval)
      } catch {
        return
      }
    }
  }
}
#endif
