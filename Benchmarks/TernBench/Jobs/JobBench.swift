import Foundation
import GRDB
import Synchronization
import Tern

/// Work that is nothing, so that what is left is the queue.
struct Nothing: Job {
  static let kind = "nothing"
  var number: Int
}

/// Jobs through a queue on a file: enqueued, claimed and completed.
struct JobBench {
  let folder: String
  let durability: Durability
  /// How many jobs run at once.
  var concurrency = 4

  private func open() throws -> JobQueue {
    var limits = JobLimits()
    limits.jobs = 10_000_000
    return try JobQueue.openBlocking(
      DatabasePool(path: "\(folder)/app.sqlite"), limits: limits, durability: durability)
  }

  /// Seconds to enqueue so many, and to have them done.
  ///
  /// - Parameter size: how many are enqueued in one transaction.
  func run(count: Int, together size: Int) async throws -> (enqueueing: Double, working: Double) {
    let queue = try open()
    let clock = ContinuousClock()
    let enqueueing = try clock.measure {
      for first in stride(from: 0, to: count, by: size) {
        try queue.database.writeNow { db in
          for number in first..<min(first + size, count) {
            try queue.enqueue(Nothing(number: number), in: db)
          }
        }
      }
    }
    let done = Mutex(0)
    let worker = JobWorker(queue, concurrency: concurrency) {
      $0.handle(Nothing.self) { _, _ in done.withLock { $0 += 1 } }
    }
    let working = try await clock.measure { try await worker.drain() }
    precondition(done.withLock { $0 } == count, "not all jobs were done")
    return (enqueueing / .seconds(1), working / .seconds(1))
  }

  /// Seconds from before the transaction that enqueues until the handler begins, one job after the
  /// other, sorted.
  func latencies(count: Int) async throws -> [Double] {
    let queue = try open()
    let clock = ContinuousClock()
    let (begins, begun) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
    let worker = JobWorker(queue, concurrency: concurrency) {
      $0.handle(Nothing.self) { _, _ in begun.yield(clock.now) }
    }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      var times: [Double] = []
      var iterator = begins.makeAsyncIterator()
      for number in 0..<count {
        let before = clock.now
        _ = try queue.database.writeNow { try queue.enqueue(Nothing(number: number), in: $0) }
        guard let begin = await iterator.next() else { break }
        times.append(before.duration(to: begin) / .seconds(1))
      }
      group.cancelAll()
      return times.sorted()
    }
  }
}

extension DatabaseWriter {
  /// `write` on the caller's thread, also where an asynchronous one could be meant.
  func writeNow<T>(_ body: (Database) throws -> T) throws -> T { try write(body) }
}
