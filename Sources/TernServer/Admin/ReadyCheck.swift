#if Server
import Synchronization

/// Whether the server takes requests: it looks at the store once a second, so that whoever asks
/// waits for nothing, however many ask and however long the store takes.
final class ReadyCheck: Sendable {
  private struct State {
    var isDraining = false
    /// When the store answered last.
    var answered: ContinuousClock.Instant?
  }

  private static let interval = Duration.seconds(1)
  /// After so long without an answer the store counts as one that doesn't answer.
  private static let patience = Duration.seconds(5)

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
    self.now = now
  }

  /// From now on the server is not ready.
  func drain() { state.withLock { $0.isDraining = true } }

  var isReady: Bool {
    state.withLock { state in
      guard !state.isDraining, let answered = state.answered else { return false }
      return now() - answered < Self.patience
    }
  }

  /// Returns when its task is cancelled.
  ///
  /// - Parameter look: asks the store something, and throws where it doesn't answer.
  func run(_ look: @Sendable () async throws -> Void) async {
    while true {
      do {
        try await look()
        state.withLock { $0.answered = now() }
      } catch {
        state.withLock { $0.answered = nil }
      }
      do {
        // An injected default: whoever watches the server is outside a simulation.
        try await Task.sleep(for: Self.interval)
      } catch {
        return
      }
    }
  }
}
#endif
