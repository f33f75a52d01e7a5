import Synchronization

/// Why a handler was told to end, though its worker goes on.
enum CancellationCause: Hashable, Sendable {
  /// Its job is not its own any more: removed, cancelled, or somebody else's.
  case recalled
  /// What its job requires went.
  case unmet
  /// It went too long without progress.
  case overran

  /// Whether a handler that does not heed it loses its slot. What an unmet requirement ends costs
  /// no attempt, and might leave a handler behind each time.
  var isFenced: Bool { self != .unmet }
}

/// The task in which a handler runs, so that others can cancel it, and nobody has to wait for that.
final class AttemptTask: Sendable {
  // Sendable: it is touched under the lock alone, and only while its closure runs; cancelling is
  // what any task may do to another.
  private struct Running: @unchecked Sendable {
    let task: UnsafeCurrentTask
  }

  /// What came first, for good.
  private enum End {
    case returned, fenced
  }

  private struct State {
    /// `nil` before the handler has begun, and after it has returned.
    var running: Running?
    var cause: CancellationCause?
    var end: End?
  }

  private let state = Mutex(State())

  /// Runs a handler, cancelled if this was.
  func run(_ body: () async throws -> Void) async throws {
    try await withUnsafeCurrentTask { task in
      if let task { begin(Running(task: task)) }
      defer { state.withLock { $0.running = nil } }
      try await body()
    }
  }

  private func begin(_ running: Running) {
    state.withLock { state in
      state.running = running
      if state.cause != nil { running.task.cancel() }
    }
  }

  /// Cancels the handler, or the one that begins later. The last cause is what counts.
  func cancel(_ cause: CancellationCause) {
    state.withLock { state in
      state.cause = cause
      // Under the lock, so that the task is still there.
      state.running?.task.cancel()
    }
  }

  /// The handler has returned.
  ///
  /// - Returns: why it was told to end, and whether its attempt goes on: `false` once it is fenced.
  func returned() -> (cause: CancellationCause?, isOwn: Bool) {
    state.withLock { state in
      state.end = state.end ?? .returned
      return (state.cause, state.end == .returned)
    }
  }

  /// Ends the attempt without its handler.
  ///
  /// - Returns: `false` where the handler has returned.
  func fence() -> Bool {
    state.withLock { state in
      state.end = state.end ?? .fenced
      return state.end == .fenced
    }
  }
}

/// Ends of attempts, until the worker's loop stores all of them in one transaction.
final class AttemptEnds: Sendable {
  private struct State {
    var ends: [EndedAttempt] = []
    /// `nil` while nobody stores what is added.
    var signals: RunSignals?
  }

  private let state = Mutex(State())

  /// The loop begins; it is told of each end.
  func open(_ signals: RunSignals) { state.withLock { $0.signals = signals } }

  /// - Returns: `false` where it was not taken, because the loop has ended.
  func add(_ end: EndedAttempt) -> Bool {
    state.withLock { state in
      guard let signals = state.signals else { return false }
      state.ends.append(end)
      signals.wake()
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
