import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// What is kept of failures and of what has ended, and who is not tried again.
@Suite("Store: the history of errors and of ended jobs")
struct HistoryTests {
  @Test func `a failed job has the whole history of its errors, until it is done`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          if rig.seconds < 100 { throw JobFailure(.failed, "attempt \(context.attempt)") }
        }
      }
      try rig.live(worker, until: 20)
      #expect(try rig.record(queue, id).state == .failed)
      let errors = try rig.database.read { try queue.failedAttempts(of: id, in: $0) }
      #expect(errors.map(\.reason) == (1...4).map { "attempt \($0)" })
      #expect(errors.map(\.start) == [1, 2, 3, 4])
      let start = Date(timeIntervalSince1970: 1_000_000)
      #expect(errors.map { $0.at.timeIntervalSince(start) } == [0, 1, 3, 7])
      try rig.perform { try await rig.sleep(100) }
      // A retry keeps them: it may fail again.
      try rig.write { _ = try queue.retry(id, in: $0) }
      #expect(try rig.database.read { try queue.failedAttempts(of: id, in: $0) }.count == 4)
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.database.read { try queue.failedAttempts(of: id, in: $0) } == [])
    }
  }

  /// "a" is done, and "b" waits under the same number: of an app that began all of its numbers anew.
  private func twice(_ rig: Rig) throws -> (JobQueue, JobWorker, JobID) {
    let queue = try rig.open()
    let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
    let id = try rig.enqueue(queue, Tidy(name: "a"))
    try rig.drain(worker)
    try rig.write { try $0.execute(sql: "DELETE FROM sqlite_sequence") }
    #expect(try rig.enqueue(queue, Tidy(name: "b")) == id)
    return (queue, worker, id)
  }

  @Test func `a job that gets the number of one that is done takes its place in the history`()
    throws
  {
    try Rig.run { rig in
      let (queue, worker, _) = try twice(rig)
      try rig.drain(worker, waiting: .seconds(60))
      #expect(rig.notes() == ["0 a", "0 b"])
      #expect(try rig.database.read { try queue.records(in: $0) }.map(\.state) == [.done])
      let counted = try rig.database.read {
        try Int.fetchOne($0, sql: "SELECT ended FROM grdb_tern_jobqueue")
      }
      #expect(counted == 1)
    }
  }

  @Test func `what is asked of a number that two jobs had is asked of the one that has not ended`()
    throws
  {
    try Rig.run { rig in
      let (queue, worker, id) = try twice(rig)
      #expect(try rig.database.read { try queue.records(in: $0) }.map(\.state) == [.waiting])
      #expect(try rig.database.read { try DatabaseDiagnosis($0).findings }.isEmpty)
      #expect(try rig.write { try queue.remove(id, in: $0) })
      #expect(try rig.database.read { try queue.records(in: $0) }.isEmpty)
      try rig.drain(worker)
      #expect(rig.notes() == ["0 a"])
    }
  }

  @Test func `INV-10: only the newest errors of a job are kept`() throws {
    try Rig.run { rig in
      rig.limits.failedAttemptsPerJob = 3
      let queue = try rig.open()
      let (a, b) = (try rig.enqueue(queue, Patient()), try rig.enqueue(queue, Tidy(name: "b")))
      let worker = JobWorker(queue) {
        $0.handle(Patient.self) { _, _ in throw Failure(.failed) }
        $0.handle(Tidy.self) { _, _ in throw Failure(.permanent) }
      }
      try rig.live(worker, until: 200)
      #expect(
        try rig.database.read { try queue.failedAttempts(of: a, in: $0) }.map(\.start) == [2, 3, 4])
      #expect(try rig.database.read { try queue.failedAttempts(of: b, in: $0) }.map(\.start) == [1])
      try rig.write { _ = try queue.remove(a, in: $0) }
      #expect(try rig.database.read { try queue.failedAttempts(of: a, in: $0) } == [])
    }
  }

  @Test func `INV-10: attempts that cost nothing make room for the errors that count`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let starts = Mutex(0)
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in
          let start = starts.withLock { starts in
            starts += 1
            return starts
          }
          // An hour without a network comes between the third failure and the last.
          throw 4..<64 ~= start
            ? JobFailure(.unreachable, "nobody") : JobFailure(.failed, "failure \(start)")
        }
      }
      try rig.live(worker, until: 5000)
      #expect(try rig.record(queue, id).state == .failed)
      let story = try rig.database.read { try queue.failedAttempts(of: id, in: $0) }
      let counted = story.filter { $0.reason != "nobody" }
      #expect(counted.map(\.reason) == [1, 2, 3, 64].map { "failure \($0)" })
      #expect(story.map(\.start) == [1, 2, 3] + Array(18...64))
    }
  }

  @Test
  func `INV-09: a job that ends its process five times in a row is parked until it is retried`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let lives = try rig.enqueue(queue, Tidy(name: "b"))
      func dying() throws -> JobRecord {
        // As a process leaves it that dies while both run, the second of them after a step.
        try rig.write { db in
          try db.execute(
            sql: "UPDATE grdb_tern_job SET state = 1, starts = starts + 1 WHERE state = 0")
          try db.execute(
            sql: "UPDATE grdb_tern_job SET deaths = 0 WHERE id = ?", arguments: [lives.rawValue])
        }
        try rig.drain(JobWorker(queue, concurrency: 1) { _ in })
        let record = try rig.record(queue, id)
        try rig.write { try $0.execute(sql: "UPDATE grdb_tern_job SET state = 0 WHERE deaths < 5") }
        return record
      }
      for _ in 1...4 { _ = try dying() }
      #expect(try rig.record(queue, id).state == .waiting)
      let record = try dying()
      #expect(record.state == .parked)
      #expect(record.reason == "its process died 5 times in a row while it ran")
      let errors = try rig.database.read { try queue.failedAttempts(of: id, in: $0) }
      #expect(errors.filter { $0.reason == "the process died" }.map(\.start) == [1, 2, 3, 4, 5])
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 b"], "a handler alone brings it not back")
      try rig.write { _ = try queue.retry(id, in: $0) }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 a"])
    }
  }

  @Test func `INV-10: what has ended is kept for a while, and only the newest`() throws {
    try Rig.run { rig in
      rig.limits.keptFor = .seconds(60)
      rig.limits.keptDone = 3
      let queue = try rig.open()
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } }
      func kept() throws -> [Int64] { try rig.database.read(queue.records).map(\.id.rawValue) }
      for name in ["1", "2", "3"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      try rig.drain(worker)
      let fourth = try rig.enqueue(queue, Tidy(name: "4"))
      try rig.write { _ = try queue.cancel(fourth, in: $0) }
      #expect(try kept() == [2, 3, 4])
      try rig.perform { try await rig.sleep(61) }
      _ = try rig.enqueue(queue, Tidy(name: "5"))
      try rig.drain(worker)
      #expect(try kept() == [5])
    }
  }

  // MARK: - Payloads and time

  private struct Old: Job {
    static let kind = "page"
    var page: String
  }

  private struct New: Job {
    static let kind = "page"
    static let version = 3
    var number: Int

    static func migrate(_ payload: Data, from version: Int) throws -> New {
      let old = try JSONDecoder().decode(Old.self, from: payload)
      guard let number = Int(old.page) else { throw JobFailure(.permanent, "no number") }
      return New(number: number * 10 + version)
    }
  }

  @Test func `an older payload is migrated, and a newer one parked until the app is updated`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Old(page: "7"))
      let damaged = try rig.enqueue(queue, Old(page: "x"))
      _ = try rig.enqueue(queue, New(number: 5))
      try rig.drain(
        JobWorker(queue) { $0.handle(New.self) { job, _ in rig.note("\(job.number)") } })
      #expect(rig.notes() == ["0 71", "0 5"])
      #expect(try rig.record(queue, damaged).state == .parked)
      #expect(try rig.record(queue, damaged).reason?.hasSuffix("no number") == true)
      let newer = try rig.enqueue(queue, New(number: 6))
      try rig.drain(JobWorker(queue) { $0.handle(Old.self) { job, _ in rig.note(job.page) } })
      let record = try rig.record(queue, newer)
      #expect(record.state == .parked)
      #expect(record.reason?.contains("newer version of this app") == true)
      #expect(rig.notes() == ["0 x"])
      try rig.drain(
        JobWorker(queue) { $0.handle(New.self) { job, _ in rig.note("\(job.number)") } })
      #expect(rig.notes() == ["0 6"])
    }
  }

  @Test func `a step that takes too long is cancelled, and counts`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let length = context.attempt == 1 ? 100.0 : 1.0
          let result = try await context.step("slow", within: .seconds(5)) {
            do {
              try await rig.sleep(length)
            } catch {
              rig.note("cancelled")
              throw error
            }
            return 3
          } commit: { db, result in
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: ["\(result)"])
          }
          rig.note("\(result)")
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["5 cancelled", "7 3"])
      #expect(try rig.titles() == ["3"])
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.starts == 2)
    }
  }

  @Test func `what has ended is out of the way, and the view has both`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let states = "SELECT state FROM grdb_tern_jobs ORDER BY id"
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      let held = try rig.write { try queue.enqueue(Tidy(name: "b"), after: .seconds(60), in: $0) }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      let counts = try rig.database.read { db in
        try ["grdb_tern_job", "grdb_tern_jobhistory"].map {
          try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")!
        }
      }
      #expect(counts == [1, 1])
      #expect(
        try rig.database.read { try String.fetchAll($0, sql: states) } == ["done", "waiting"])
      #expect(try rig.write { try queue.cancel(held, in: $0) })
      #expect(try rig.database.read(queue.records).map(\.state) == [.done, .cancelled])
      #expect(try rig.write { try queue.remove(held, in: $0) })
      #expect(try rig.database.read { try String.fetchAll($0, sql: states) } == ["done"])
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `who observes the view sees a job run and end`() async throws {
    let database = try DatabaseQueue()
    let queue = try await JobQueue.open(database)
    let (seen, see) = AsyncStream.makeStream(of: Void.self)
    let worker = JobWorker(queue) {
      // Not before somebody has seen that it runs.
      $0.handle(Tidy.self) { _, _ in for await _ in seen { break } }
    }
    let observation = ValueObservation.tracking {
      try String.fetchAll($0, sql: "SELECT state FROM grdb_tern_jobs")
    }
    var states: [String] = []
    try await worker.run {
      _ = try await database.write { try queue.enqueue(Tidy(name: "a"), in: $0) }
      for try await now in observation.values(in: database) {
        states += now
        if now == ["running"] { see.yield() }
        if now == ["done"] { break }
      }
    }
    #expect(states.suffix(2) == ["running", "done"])
  }
}
