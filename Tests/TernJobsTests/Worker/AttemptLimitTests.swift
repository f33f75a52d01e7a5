import Foundation
import GRDB
import Tern
import TernJobs
import Testing

/// Handlers that get nowhere, and those that never return.
@Suite("Worker: attempts without progress")
struct AttemptLimitTests {
  private struct Slow: Job {
    static let kind = "slow"
    static let attemptLimit: Duration? = .seconds(60)
    var name = ""
  }

  private func failures(_ rig: Rig, _ queue: JobQueue, _ id: JobID) throws -> [String] {
    try rig.database.read { try queue.failedAttempts(of: id, in: $0) }.map(\.reason)
  }

  @Test func `an attempt without progress is cancelled after ten minutes, and counts`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, context in
          rig.note("\(context.attempt)")
          try await rig.sleep(context.attempt == 1 ? 10_000 : 1)
        }
      }
      try rig.live(worker, until: 700)
      #expect(rig.notes() == ["0 1", "601 2"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a handler that returns as it is cancelled has not done its work`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, _ in
          rig.note("start")
          try? await rig.sleep(1000)
        }
      }
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["0 start", "61 start"])
      let record = try rig.record(queue, id)
      #expect(record.state == .waiting && record.failures == 1)
      #expect(
        try failures(rig, queue, id) == ["the attempt went 60.0 seconds without progress"])
    }
  }

  @Test func `a step, a value and a report push the limit on`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, context in
          rig.note("start")
          try await rig.sleep(50)
          try await context.step("one") {}
          try await rig.sleep(50)
          try await context.save("two", 2)
          try await rig.sleep(50)
          try await context.report(progress: 0.5)
          try await rig.sleep(50)
          rig.note("end")
        }
      }
      try rig.live(worker, until: 300)
      #expect(rig.notes() == ["0 start", "200 end"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a step with a longer time of its own may take that, and no more follows it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, context in
          try await context.step("long", within: .seconds(200)) { try await rig.sleep(150) }
          rig.note("stepped")
          do {
            try await rig.sleep(1000)
          } catch {
            rig.note("ends")
            throw error
          }
        }
      }
      try rig.live(worker, until: 215)
      #expect(rig.notes() == ["150 stepped", "210 ends", "211 stepped", "215 ends"])
      #expect(try rig.record(queue, id).failures == 1)
    }
  }

  @Test func `a network that changed meanwhile excuses it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, context in
          rig.note("\(context.attempt)")
          try await rig.sleep(context.start == 1 ? 1000 : 1)
        }
      }
      try rig.live(
        worker, until: 200,
        while: {
          try await rig.sleep(30)
          rig.path.set(hasRoute: true)
        })
      #expect(rig.notes() == ["0 1", "61 1"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a job may go on for ever where it says so`() throws {
    struct Endless: Job {
      static let kind = "endless"
      static let attemptLimit: Duration? = nil
    }
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Endless())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Endless.self) { _, _ in try await rig.sleep(100_000) }
      }
      try rig.live(worker, until: 200_000)
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.starts == 1)
    }
  }

  /// INV-09: the others go on, and the job is tried again. INV-04: the old handler stores nothing.
  @Test(arguments: [1, 4])
  func `handlers that never return lose their slots, and store nothing any more`(_ slots: Int)
    throws
  {
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let ids = try (0..<slots).map { try rig.enqueue(queue, Slow(name: "slow \($0)")) }
      let other = try rig.enqueue(queue, Tidy(name: "tidy"))
      let worker = JobWorker(queue, concurrency: slots, path: rig.path) {
        $0.handle(Slow.self) { job, context in
          if context.start == 1 {
            await latch.wait()
            await #expect(throws: JobQueueError.self) {
              try await context.step("late") {
              } commit: { db in
                try db.execute(sql: "INSERT INTO book VALUES ('late')")
              }
            }
          }
          rig.note("\(job.name), start \(context.start)")
        }
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      try rig.live(
        worker, until: 200,
        while: {
          try await rig.sleep(100)
          latch.open()
        })
      let all = (0..<slots).map { "slow \($0)" }
      let expected =
        ["70 tidy"] + all.map { "71 \($0), start 2" } + all.map { "100 \($0), start 1" }
      #expect(rig.notes().sorted() == expected.sorted())
      #expect(try rig.titles().isEmpty)
      #expect(try rig.record(queue, other).state == .done)
      for id in ids {
        let record = try rig.record(queue, id)
        #expect(record.state == .done && record.starts == 2)
      }
    }
  }

  @Test func `a handler that never returns is tried as often as its policy says`() throws {
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Slow.self) { _, context in
          rig.note("\(context.attempt)")
          await latch.wait()
        }
      }
      try rig.live(
        worker, until: 500,
        while: {
          // It counts, whatever the network does.
          for _ in 0..<12 {
            try await rig.sleep(30)
            rig.path.set(hasRoute: true)
          }
          latch.open()
        })
      #expect(rig.notes() == ["0 1", "71 2", "143 3", "217 4"])
      let record = try rig.record(queue, id)
      #expect(record.state == .failed && record.failures == 4)
      #expect(
        record.reason
          == "the attempt went 60.0 seconds without progress, and its handler did not heed its "
          + "cancellation within 10.0 seconds")
    }
  }

  @Test func `a pause that a fenced handler was told to make holds for the others`() throws {
    struct Talk: Job {
      static let kind = "talk"
      static let service: String? = "recogniser"
      static let attemptLimit: Duration? = .seconds(60)
      static let retry = RetryPolicy.never
    }
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let first = try rig.enqueue(queue, Talk())
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Talk.self) { _, _ in
          await latch.wait()
          throw Failure(.limited(delay: .seconds(30)))
        }
        $0.handle(Scan.self) { job, _ in rig.note(job.shelf) }
      }
      try rig.live(
        worker, until: 200,
        while: {
          try await rig.sleep(100)
          latch.open()
          try await rig.sleep(1)
          _ = try rig.enqueue(queue, Scan(shelf: "later"))
        })
      #expect(rig.notes() == ["130 later"])
      #expect(try rig.record(queue, first).state == .failed)
    }
  }

  @Test func `a job that is cancelled, whose handler takes no notice, gives its slot on`() throws {
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      _ = try rig.enqueue(queue, Tidy(name: "tidy"))
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Slow.self) { _, _ in await latch.wait() }
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      try rig.live(
        worker, until: 50,
        while: {
          try await rig.sleep(5)
          _ = try rig.write { try queue.cancel(id, in: $0) }
          try await rig.sleep(30)
          latch.open()
        })
      #expect(rig.notes() == ["15 tidy"])
      #expect(try rig.record(queue, id).state == .cancelled)
    }
  }

  @Test func `a worker's end while an attempt is told to end costs nothing`() throws {
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, context in
          if context.start == 1 { await latch.wait() }
        }
      }
      try rig.live(
        worker, until: 65,
        while: {
          try await rig.sleep(66)
          latch.open()
        })
      let record = try rig.record(queue, id)
      #expect(record.state == .waiting && record.failures == 0)
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `time in which the worker itself did nothing is nobody's`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Slow())
      let tidy = try rig.enqueue(queue, Tidy(name: "a"))
      let other = try DatabaseQueue.leavingTransactionsOpen(rig.database.path)
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Slow.self) { _, _ in
          try await rig.sleep(150)
          rig.note("done")
        }
        $0.handle(Tidy.self) { _, _ in try await rig.sleep(50) }
      }
      try rig.live(
        worker, until: 160,
        while: {
          try await rig.sleep(49)
          try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
          try await rig.sleep(81)
          try other.inDatabase { try $0.execute(sql: "COMMIT") }
        })
      #expect(rig.notes() == ["150 done"])
      #expect(try [id, tidy].map { try rig.record(queue, $0).starts } == [1, 1])
    }
  }
}
