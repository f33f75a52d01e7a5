import Synchronization

/// What all that belongs to a worker shares in one run: whom news wakes, and what ended the run.
final class RunSignals: Sendable {
  private struct State {
    /// `nil` while nothing runs.
    var news: AsyncStream<Void>.Continuation?
    var failure: (any Error)?
    var hasWaitedInVain = false
  }

  private let state = Mutex(State())

  func begin(_ news: AsyncStream<Void>.Continuation) {
    state.withLock { $0 = State(news: news) }
  }

  func end() { state.withLock { $0.news = nil } }

  /// The loop looks again.
  func wake() { state.withLock { _ = $0.news?.yield() } }

  /// What the database refused; nothing further is written then, but that nobody runs what ran.
  var failure: (any Error)? { state.withLock { $0.failure } }

  /// Ends the run with an error that is not a handler's. The first one counts.
  func fail(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
    wake()
  }

  /// Whether the database was waited for in vain after the worker was told to end.
  var hasWaitedInVain: Bool { state.withLock { $0.hasWaitedInVain } }

  func noteWaitInVain() { state.withLock { $0.hasWaitedInVain = true } }
}
