import Foundation
import GRDB
import Tern
import TernJobs

/// What a few jobs cost, from enqueueing to their ends, where many wait.
struct JobsAmong {
  let path: String

  private func open() throws -> JobQueue {
    try JobQueue.openBlocking(DatabaseQueue(path: path), limits: JobBench.limits)
  }

  /// Makes a file in which so many wait.
  func make(waiting count: Int) throws {
    let queue = try open()
    for first in stride(from: 0, to: count, by: 10_000) {
      try queue.database.write { db in
        for number in first..<min(first + 10_000, count) {
          try queue.enqueue(Nothing(number: number), in: db)
        }
      }
    }
  }

  /// Enqueues so many, a transaction each, and ends as many: one after the other, so that the
  /// transactions are the same in every run.
  func work(jobs count: Int) async throws {
    let queue = try open()
    try enqueue(count, in: queue)
    let (ends, ended) = AsyncStream.makeStream(of: Void.self)
    let worker = JobWorker(queue, concurrency: 1, path: UnknownPathSource()) {
      $0.handle(Nothing.self) { _, _ in ended.yield() }
    }
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await worker.run() }
      var left = count
      for await _ in ends {
        left -= 1
        if left == 0 { break }
      }
      group.cancelAll()
    }
  }

  /// The processor time of this process, in seconds, while so many jobs wait for a time to come and a
  /// worker waits with them.
  func idle(waiting count: Int, for time: Duration) async throws -> Double {
    let database = try DatabasePool(path: path)
    let queue = try await JobQueue.open(database, limits: JobBench.limits)
    try await database.write { db in
      for number in 0..<count {
        try queue.enqueue(Nothing(number: number), after: .seconds(86_400 + number), in: db)
      }
    }
    let worker = JobWorker(queue) { $0.handle(Nothing.self) { _, _ in } }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      // Until it has looked at what there is.
      try await ContinuousClock().sleep(for: .seconds(1))
      let before = processorTime
      try await ContinuousClock().sleep(for: time)
      let spent = processorTime - before
      group.cancelAll()
      return spent
    }
  }

  private func enqueue(_ count: Int, in queue: JobQueue) throws {
    for number in 0..<count {
      _ = try queue.database.write { try queue.enqueue(Nothing(number: number), in: $0) }
    }
  }
}
