import Foundation
import GRDB
import Tern

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

  private func enqueue(_ count: Int, in queue: JobQueue) throws {
    for number in 0..<count {
      _ = try queue.database.write { try queue.enqueue(Nothing(number: number), in: $0) }
    }
  }
}
