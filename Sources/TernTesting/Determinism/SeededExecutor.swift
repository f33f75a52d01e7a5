import Dispatch
import Synchronization

/// Runs every task that prefers it, and every actor on it, on the calling thread, and picks the
/// next ready job by a seed: the same seed gives the same interleaving.
///
/// `Task.detached`, and `Task {}` without the preference, escape it.
public final class SeededExecutor: SerialExecutor, TaskExecutor {
  private struct State {
    var generator: SeededGenerator
    var ready: [UnownedJob] = []
    /// Whether a thread waits for the next one.
    var isAwaited = false
  }

  private let state: Mutex<State>
  private let arrival = DispatchSemaphore(value: 0)

  public init(seed: UInt64) {
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isAwaited = state.withLock { state in
      defer { state.isAwaited = false }
      state.ready.append(job)
      return state.isAwaited
    }
    if isAwaited { arrival.signal() }
  }

  /// Runs jobs until `isDone`, letting virtual time pass when nothing is ready.
  ///
  /// - Returns: whether `isDone` became true; otherwise nothing was left that could happen.
  public func run(_ clock: VirtualClock, until isDone: () -> Bool) -> Bool {
    while !isDone() {
      if !runNext(), !clock.advance() { return false }
    }
    return true
  }

  /// - Returns: `false` when nothing is ready.
  func runNext() -> Bool {
    guard let job = takeNext() else { return false }
    job.runSynchronously(
      isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    return true
  }

  /// Blocks the thread until something is ready that another thread resumed.
  ///
  /// - Parameter limit: in real time.
  /// - Returns: whether something is.
  func awaitNext(_ limit: DispatchTimeInterval) -> Bool {
    let isReady = state.withLock { state in
      state.isAwaited = state.ready.isEmpty
      return !state.isAwaited
    }
    if isReady || arrival.wait(timeout: .now() + limit) == .success { return true }
    let isLate = state.withLock { state in
      defer { state.isAwaited = false }
      return !state.isAwaited
    }
    // It came in the last moment, and its signal with it.
    if isLate { arrival.wait() }
    return isLate
  }

  private func takeNext() -> UnownedJob? {
    state.withLock { state in
      if state.ready.isEmpty { return nil }
      let index = Int.random(in: 0..<state.ready.count, using: &state.generator)
      return state.ready.remove(at: index)
    }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    UnownedTaskExecutor(ordinary: self)
  }
}
