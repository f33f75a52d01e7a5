#if Server
import Logging
import Synchronization

/// A check that is made again and again while a server runs. Where it hasn't succeeded for a while,
/// also where it doesn't return, nobody knows any more whether what it looks for holds.
struct PeriodicCheck: Sendable {
  struct Times {
    var interval = Duration.seconds(1)
    /// For how long it may fail.
    var patience = Duration.seconds(30)
  }

  /// What the log says when it fails.
  let failure: Logger.Message
  let times: Times
  let logger: Logger
  var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  let check: @Sendable () async throws -> Void
  /// Called each interval, from when on it has failed for too long.
  let onSilence: @Sendable () -> Void

  /// Returns when its task is cancelled.
  func run() async {
    let succeeded = Success(at: now())
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await repeatCheck(succeeded) }
      group.addTask {
        while await pause() {
          if now() - succeeded.time.withLock({ $0 }) >= times.patience { onSilence() }
        }
      }
    }
  }

  private func repeatCheck(_ succeeded: Success) async {
    var hasFailed = false
    repeat {
      do {
        try await check()
        succeeded.time.withLock { $0 = now() }
        hasFailed = false
      } catch {
        if !hasFailed, !Task.isCancelled { logger.failure(failure, error) }
        hasFailed = true
      }
    } while await pause()
  }

  /// Returns whether to go on.
  private func pause() async -> Bool {
    do {
      // An injected default: event streams belong to the connection, below which a simulation is.
      try await Task.sleep(for: times.interval)
      return true
    } catch {
      return false
    }
  }

  private final class Success: Sendable {
    let time: Mutex<ContinuousClock.Instant>
    init(at time: ContinuousClock.Instant) { self.time = Mutex(time) }
  }
}
#endif
