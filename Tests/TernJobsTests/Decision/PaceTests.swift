import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// Two at a time, and of one account one.
private struct Fetch: Job {
  static let kind = "fetch"
  static let pace = JobPace(concurrency: 2)
  static let lanePace = JobPace(concurrency: 1)
  var name: String
}

/// Two at once, then one every ten seconds.
private struct Post: Job {
  static let kind = "post"
  static let pace = JobPace(rate: JobRate(1, per: .seconds(10), burst: 2))
  var name: String
}

/// One an hour, and after an update of the app one every ten seconds.
private struct Slow: Job {
  static let kind = "slow"
  static let pace = JobPace(rate: JobRate(1, per: .seconds(3600)))
  var name: String
}

private struct Hurried: Job {
  static let kind = "slow"
  static let pace = JobPace(rate: JobRate(1, per: .seconds(10)))
  var name: String
}

/// For each account one every ten seconds.
private struct Mail: Job {
  static let kind = "mail"
  static let lanePace = JobPace(rate: JobRate(1, per: .seconds(10)))
  var name: String
}

@Suite("Decision: the pace of kinds and lanes")
struct PaceTests {
  private func worker(_ queue: JobQueue, _ rig: Rig, seconds: Double = 5) -> JobWorker {
    JobWorker(queue, concurrency: 4) {
      $0.handle(Fetch.self) { job, _ in
        rig.note(job.name)
        try await rig.sleep(seconds)
      }
      $0.handle(Post.self) { job, _ in rig.note(job.name) }
      $0.handle(Mail.self) { job, _ in rig.note(job.name) }
      $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
    }
  }

  @Test func `no more of a kind run at once than its pace says, and others pass`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for name in ["a", "b", "c"] { try queue.enqueue(Fetch(name: name), in: db) }
        try queue.enqueue(Tidy(name: "other"), in: db)
      }
      try rig.drain(worker(queue, rig))
      #expect(Set(rig.notes()) == ["0 a", "0 b", "0 other", "5 c"])
    }
  }

  @Test func `of a lane no more run at once than its pace says, over a restart too`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for name in ["a1", "a2", "a3"] {
          try queue.enqueue(Fetch(name: name), priority: 1, lane: "a", in: db)
        }
        try queue.enqueue(Fetch(name: "b1"), lane: "b", in: db)
      }
      try rig.live(worker(queue, rig), until: 7)
      #expect(Set(rig.notes()) == ["0 a1", "0 b1", "5 a2"])
      // What was interrupted goes again, alone in its lane.
      try rig.drain(worker(queue, rig))
      #expect(rig.notes() == ["7 a2", "12 a3"])
      let record = try rig.record(queue, JobID(rawValue: 2))
      #expect(record.lane == "a" && record.starts == 2)
    }
  }

  @Test func `a rate lets its burst go at once and then one in each interval, whatever restarts`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for name in ["a", "b", "c", "d", "e"] { try queue.enqueue(Post(name: name), in: db) }
      }
      for end in [3.0, 4, 11, 29] { try rig.live(worker(rig.open(), rig), until: end) }
      #expect(rig.notes().sorted() == ["0 a", "0 b", "10 c", "20 d"])
      // Nobody waits for a token who does not want to.
      try rig.drain(worker(queue, rig))
      #expect(rig.notes() == [])
      try rig.drain(worker(queue, rig), waiting: .seconds(2))
      #expect(rig.notes() == ["30 e"])
    }
  }

  @Test func `each lane has tokens of its own, and who has no lane needs none`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for lane in ["x", "y"] {
          for number in 1...2 {
            try queue.enqueue(Mail(name: "\(lane)\(number)"), lane: lane, in: db)
          }
        }
        for name in ["free", "free"] { try queue.enqueue(Mail(name: name), in: db) }
      }
      try rig.drain(worker(queue, rig), waiting: .seconds(60))
      #expect(
        rig.notes().sorted() == ["0 free", "0 free", "0 x1", "0 y1", "10 x2", "10 y2"])
    }
  }

  @Test func `a clock that is set back keeps nobody longer than a whole bucket`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for name in ["a", "b", "c"] { try queue.enqueue(Post(name: name), in: db) }
      }
      try rig.live(worker(queue, rig), until: 1)
      rig.skew.withLock { $0 = .seconds(-900_000) }
      try rig.live(worker(queue, rig), until: 30)
      #expect(rig.notes().sorted() == ["0 a", "0 b", "11 c"])
    }
  }

  @Test func `of lanes that are not used any more nothing stays`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for lane in ["x", "y", "z"] { try queue.enqueue(Mail(name: lane), lane: lane, in: db) }
        try queue.enqueue(Tidy(name: "later"), after: .seconds(20), in: db)
      }
      @Sendable func buckets() throws -> Int? {
        try rig.database.read {
          try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_jobbucket")
        }
      }
      let worker = worker(queue, rig)
      let counts = try rig.perform {
        try await worker.run { try await rig.sleep(1) }
        return try buckets()
      }
      #expect(counts == 3)
      try rig.perform { try await worker.run { try await rig.sleep(5) } }
      #expect(try buckets() == 3)
      try rig.live(worker, until: 30)
      #expect(try buckets() == 0)
    }
  }

  @Test func `a rate that an update makes faster holds nobody for as long as the old one`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for name in ["a", "b"] { try queue.enqueue(Slow(name: name), in: db) }
      }
      try rig.live(
        JobWorker(queue) { $0.handle(Slow.self) { job, _ in rig.note(job.name) } }, until: 1)
      #expect(rig.notes() == ["0 a"])
      let updated = JobWorker(queue) { $0.handle(Hurried.self) { job, _ in rig.note(job.name) } }
      try rig.live(updated, until: 60)
      // The whole bucket of the new rate after it was seen first.
      #expect(rig.notes() == ["11 b"])
    }
  }

  @Test func `the lane's name has a limit, and a replaced job changes lanes`() throws {
    try Rig.run { rig in
      rig.limits.keyBytes = 4
      let queue = try rig.open()
      let error = #expect(throws: JobQueueError.self) {
        try rig.write { try queue.enqueue(Mail(name: "a"), lane: "12345", in: $0) }
      }
      #expect(error?.code == .keyTooLong)
      try rig.write { db in
        try queue.enqueue(Mail(name: "a"), unique: .replace("k"), lane: "x", in: db)
        try queue.enqueue(Mail(name: "b"), unique: .replace("k"), lane: "y", in: db)
      }
      #expect(try rig.record(queue, JobID(rawValue: 1)).lane == "y")
    }
  }
}

@Suite("Decision: the retry budget of a service")
struct RetryBudgetTests {
  /// What a service answers.
  private final class Outage: Sendable {
    private let state: Mutex<FailureAdvice?>

    init(_ advice: FailureAdvice) { state = Mutex(advice) }

    var advice: FailureAdvice? { state.withLock { $0 } }

    func end() { state.withLock { $0 = nil } }
  }

  /// Each asks a service that can be out of order.
  private func worker(
    _ queue: JobQueue, _ rig: Rig, _ outage: Outage
  ) -> JobWorker {
    JobWorker(queue, concurrency: 4, path: rig.path) {
      $0.handle(Scan.self) { job, _ in
        rig.note(job.shelf)
        if let advice = outage.advice { throw Failure(advice) }
      }
      $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
    }
  }

  private func fill(_ rig: Rig, _ queue: JobQueue, _ count: Int) throws {
    try rig.write { db in
      for number in 0..<count { try queue.enqueue(Scan(shelf: "\(number)"), in: db) }
    }
  }

  @Test(arguments: [FailureAdvice.failed, .unreachable, .interrupted(isLocal: false)])
  func `an outage costs a bounded number of sends, over restarts too`(_ advice: FailureAdvice)
    throws
  {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(10), burst: 5)
      let queue = try rig.open()
      try fill(rig, queue, 100)
      let outage = Outage(advice)
      try rig.live(worker(queue, rig, outage), until: 35)
      try rig.live(worker(rig.open(), rig, outage), until: 95)
      // Five, and one every ten seconds.
      #expect(rig.notes().count == 5 + 9)
      // Others are not held.
      _ = try rig.enqueue(queue, Tidy(name: "other"))
      outage.end()
      try rig.live(worker(queue, rig, outage), until: 101)
      let notes = rig.notes()
      #expect(notes.contains("95 other"))
      // Once it has done something again, nobody waits.
      #expect(notes.filter { $0.hasPrefix("100 ") }.count > 80)
    }
  }

  @Test func `a step costs an outage's budget nothing and gives nothing back, a success one`()
    throws
  {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 3)
      let queue = try rig.open()
      try rig.write { db in
        for name in ["bad 1", "bad 2", "good", "bad 3", "bad 4", "bad 5"] {
          try queue.enqueue(Scan(shelf: name), in: db)
        }
      }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Scan.self) { job, context in
          rig.note(job.shelf)
          try await context.step("here alone") {}
          if job.shelf != "good" { throw Failure(.failed) }
        }
      }
      try rig.live(worker, until: 500)
      #expect(rig.notes() == ["0 bad 1", "0 bad 2", "0 good", "0 bad 3", "0 bad 4"])
    }
  }

  @Test func `while one runs for long the next failure waits for its token, and no longer`() throws
  {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(10), burst: 2)
      let queue = try rig.open()
      try fill(rig, queue, 2)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { job, _ in
          rig.note(job.shelf)
          if job.shelf == "0" { return try await rig.sleep(60) }
          throw Failure(.failed)
        }
      }
      try rig.live(worker, until: 15)
      #expect(rig.notes().sorted() == ["0 0", "0 1", "10 1"])
    }
  }

  @Test func `another network restores the budgets, and without one nothing is spent`() throws {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 1)
      rig.draw = 0
      let queue = try rig.open()
      try fill(rig, queue, 1)
      let outage = Outage(.unreachable)
      let worker = worker(queue, rig, outage)
      try rig.perform {
        try await worker.run {
          try await rig.sleep(50)
          rig.path.set(hasRoute: false)
          rig.path.set(hasRoute: true)
          try await rig.sleep(50)
        }
      }
      #expect(rig.notes() == ["0 0", "50 0"])
    }
  }
}
