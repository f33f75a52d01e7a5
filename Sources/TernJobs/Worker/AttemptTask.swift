import Synchronization

/// The task in which a handler runs, so that others can cancel it, and nobody has to wait for that.
final class AttemptTask: Sendable {
  // Sendable: it is touched under the lock alone, and only while its closure runs; cancelling is
  // what any task may do to another.
  private struct Running: @unchecked Sendable {
    let task: UnsafeCurrentTask
  }

  private enum State {
    /// The handler has not begun, or has returned.
    case idle
    case running(Running)
    /// For good.
    case cancelled
  }

  private let state = Mutex(State.idle)

  /// Runs a handler, cancelled if this was.
  func run(_ body: () async throws -> Void) async throws {
    try await withUnsafeCurrentTask { task in
      if let task { begin(Running(task: task)) }
      defer { end() }
      try await body()
    }
  }

  private func begin(_ running: Running) {
    state.withLock { state in
      if case .cancelled = state { running.task.cancel() } else { state = .running(running) }
    }
  }

  private func end() {
    state.withLock { state in
      if case .running = state { state = .idle }
    }
  }

  /// Cancels the handler, or the one that begins later.
  func cancel() {
    state.withLock { state in
      // Under the lock, so that the task is still there.
      if case .running(let running) = state { running.task.cancel() }
      state = .cancelled
    }
  }
}

/// Ends of attempts, until the worker's loop stores all of them in one transaction.
final class AttemptEnds: Sendable {
  private struct State {
    var ends: [EndedAttempt] = []
    /// `nil` while nobody stores what is added.
    var news: AsyncStream<Void>.Continuation?
  }

  private let state = Mutex(State())

  /// The loop begins; it is told of each end.
  func open(_ news: AsyncStream<Void>.Continuation?) { state.withLock { $0.news = news } }

  /// - Returns: `false` where it was not taken, because the loop has ended.
  func add(_ end: EndedAttempt) -> Bool {
    state.withLock { state in
      guard let news = state.news else { return false }
      state.ends.append(end)
      news.yield()
      return true
    }
  }

  func take() -> [EndedAttempt] {
    state.withLock { state in
      defer { state.ends = [] }
      return state.ends
    }
  }

  /// - Returns: what nobody has taken.
  func close() -> [EndedAttempt] {
    state.withLock { state in
      defer { state = State() }
      return state.ends
    }
  }
}
