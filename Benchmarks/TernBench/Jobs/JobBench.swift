import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs

/// Work that is nothing, so that what is left is the queue.
struct Nothing: Job {
  static let kind = "nothing"
  var number: Int
}

/// Jobs through a queue on a file: enqueued, claimed and completed.
struct JobBench {
  let path: String
  let durability: Durability
  /// How many jobs run at once.
  var concurrency = 4
  var recording: StatementRecording?

  static let limits = {
    var limits = JobLimits()
    limits.jobs = 10_000_000
    return limits
  }()

  /// That of any app, but for a queue's id that is the same for all.
  let environment = JobEnvironment(makeID: { 7 })

  private func open() throws -> JobQueue {
    let pool = try DatabasePool(
      path: path, configuration: recording?.configuration ?? Configuration())
    return try JobQueue.openBlocking(
      pool, limits: Self.limits, durability: durability, environment: environment)
  }

  /// Seconds to enqueue so many, and to have them done.
  ///
  /// - Parameter size: how many are enqueued in one transaction.
  func run(count: Int, together size: Int) async throws -> (enqueueing: Double, working: Double) {
    let queue = try open()
    let clock = ContinuousClock()
    let enqueueing = try clock.measure { try enqueue(count, together: size, in: queue) }
    let working = try await clock.measure { try await work(count, of: queue) }
    return (enqueueing / .seconds(1), working / .seconds(1))
  }

  /// What SQLite was told to do for that.
  func record(
    count: Int, together size: Int
  ) async throws -> (enqueueing: [StatementRecording.Part], working: [StatementRecording.Part]) {
    let recording = recording!
    let queue = try open()
    recording.start()
    try enqueue(count, together: size, in: queue)
    let enqueueing = recording.take()
    try await work(count, of: queue)
    return (enqueueing, recording.take())
  }

  private func enqueue(_ count: Int, together size: Int, in queue: JobQueue) throws {
    for first in stride(from: 0, to: count, by: size) {
      try queue.database.write { db in
        for number in first..<min(first + size, count) {
          try queue.enqueue(Nothing(number: number), in: db)
        }
      }
    }
  }

  private func work(_ count: Int, of queue: JobQueue) async throws {
    let done = Mutex(0)
    let worker = JobWorker(queue, concurrency: concurrency, path: UnknownPathSource()) {
      $0.handle(Nothing.self) { _, _ in done.withLock { $0 += 1 } }
    }
    try await worker.drain()
    precondition(done.withLock { $0 } == count, "not all jobs were done")
  }

  /// Seconds from before the transaction that enqueues until the handler begins, one job after the
  /// other, sorted.
  func latencies(count: Int) async throws -> [Double] {
    let queue = try open()
    let clock = ContinuousClock()
    let (begins, begun) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
    let worker = JobWorker(queue, concurrency: concurrency, path: UnknownPathSource()) {
      $0.handle(Nothing.self) { _, _ in begun.yield(clock.now) }
    }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await worker.run() }
      var times: [Double] = []
      var iterator = begins.makeAsyncIterator()
      for number in 0..<count {
        let before = clock.now
        try enqueueOne(number, in: queue)
        guard let begin = await iterator.next() else { break }
        times.append(before.duration(to: begin) / .seconds(1))
      }
      group.cancelAll()
      return times.sorted()
    }
  }

  /// On the caller's thread, where an asynchronous `write` could be meant otherwise.
  private func enqueueOne(_ number: Int, in queue: JobQueue) throws {
    _ = try queue.database.write { try queue.enqueue(Nothing(number: number), in: $0) }
  }
}
