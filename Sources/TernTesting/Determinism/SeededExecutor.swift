import Synchronization

/// Runs every task that prefers it, and every actor on it, on the calling thread, and picks the
/// next ready job by a seed: the same seed gives the same interleaving.
///
/// `Task.detached`, and `Task {}` without the preference, escape it.
public final class SeededExecutor: SerialExecutor, TaskExecutor {
  private struct State {
    var generator: SeededGenerator
    var ready: [UnownedJob] = []
  }

  private let state: Mutex<State>

  public init(seed: UInt64) {
    state = Mutex(State(generator: SeededGenerator(seed: seed)))
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.ready.append(job) }
  }

  /// Runs jobs until `isDone`, letting virtual time pass when nothing is ready.
  ///
  /// - Returns: whether `isDone` became true; otherwise nothing was left that could happen.
  public func run(_ clock: VirtualClock, until isDone: () -> Bool) -> Bool {
    while !isDone() {
      if let job = takeNext() {
        job.runSynchronously(
          isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      } else if !clock.advance() {
        return false
      }
    }
    return true
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
