import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting

/// What a few jobs cost, from enqueueing to their ends, where many wait.
struct JobsAmong {
  let path: String

  private func open(_ executor: any SerialExecutor, _ clock: VirtualClock) throws -> JobQueue {
    var limits = JobLimits()
    limits.jobs = 10_000_000
    let seconds = clock.now.offset
    var environment = JobEnvironment(
      clock: clock, wallClock: { .seconds(1_800_000_000) + seconds }, jitter: { 1 },
      makeID: { 7 }, executor: executor, fileExecutor: executor)
    environment.watchesFiles = false
    return try JobQueue.openBlocking(
      DatabaseQueue(path: path), limits: limits, environment: environment)
  }

  /// Makes a file in which so many wait.
  func make(waiting count: Int) throws {
    let queue = try open(SeededExecutor(seed: 1), VirtualClock())
    for first in stride(from: 0, to: count, by: 10_000) {
      try queue.database.write { db in
        for number in first..<min(first + 10_000, count) {
          try queue.enqueue(Nothing(number: number), in: db)
        }
      }
    }
    _ = try queue.database.writeWithoutTransaction { try $0.checkpoint(.truncate) }
  }

  /// The work on such a file: all on the calling thread, since only that is counted.
  func prepare(jobs count: Int) throws -> () throws -> Void {
    let (executor, clock) = (SeededExecutor(seed: 1), VirtualClock())
    let queue = try open(executor, clock)
    return {
      for number in 0..<count {
        _ = try queue.database.write { try queue.enqueue(Nothing(number: number), in: $0) }
      }
      let done = Mutex(0)
      let worker = JobWorker(queue) {
        $0.handle(Nothing.self) { _, _ in done.withLock { $0 += 1 } }
      }
      let run = Task(executorPreference: executor) { try await worker.run() }
      _ = executor.run(clock) { done.withLock { $0 } >= count }
      run.cancel()
    }
  }
}
