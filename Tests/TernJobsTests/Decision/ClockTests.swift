import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// The wall clock is set, back or ahead, and nobody waits for longer than was meant.
@Suite("Decision: a wall clock that is set back or ahead")
struct JobClockTests {
  @Test func `a wall clock that is set back by a day makes nobody wait for a day`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          rig.note("\(context.attempt)")
          throw Failure(.failed)
        }
        $0.handle(Patient.self) { _, _ in
          try await rig.sleep(2)
          rig.skew.withLock { $0 = .seconds(-86_400) }
        }
      }
      _ = try rig.enqueue(queue, Patient())
      try rig.live(worker, until: 100)
      // Found out as the other job ended; the wait that was under way begins anew.
      #expect(rig.notes() == ["0 1", "1 2", "4 3", "8 4"])
    }
  }

  @Test func `a wall clock that is set back is noticed though the app refuses what comes first`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        // Late, so that all of the transaction is there to be rolled back.
        try db.execute(
          sql: """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (parent REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
            CREATE TRIGGER refused AFTER INSERT ON grdb_tern_jobhistory WHEN new.kind = 'patient'
            BEGIN INSERT INTO child VALUES (9); END
            """)
        try queue.enqueue(Patient(), in: db)
        try queue.enqueue(Tidy(name: "later"), after: .seconds(30), in: db)
      }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
        $0.handle(Patient.self) { _, _ in
          try await rig.sleep(2)
          rig.skew.withLock { $0 = .seconds(-86_400) }
        }
      }
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["32 later"])
    }
  }

  @Test func `a wall clock that is set back while the database is locked shortens no new wait`()
    throws
  {
    try Rig.run(.pool) { rig in
      rig.pollInterval = .seconds(1)
      let queue = try rig.open()
      let path = rig.files.path.replacing("/files", with: "/app.sqlite")
      let other = try DatabaseQueue.leavingTransactionsOpen(path)
      let elsewhere = try rig.open(other)
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      try rig.live(worker, until: 60) {
        try await rig.sleep(2)
        rig.skew.withLock { $0 = .seconds(-5) }
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        // The worker notices, and waits for the database.
        try await rig.sleep(4)
        try other.inDatabase { db in
          _ = try elsewhere.enqueue(Tidy(name: "later"), after: .seconds(10), in: db)
          try db.execute(sql: "COMMIT")
        }
      }
      #expect(rig.notes() == ["16 later"])
    }
  }

  @Test func `a wall clock that is set back while every slot is busy is noticed`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
        $0.handle(Patient.self) { _, _ in
          try await rig.sleep(10)
          _ = try rig.enqueue(queue, Tidy(name: "a"))
          try await rig.sleep(1)
          rig.skew.withLock { $0 = .seconds(-20) }
          try await rig.sleep(14)
        }
      }
      _ = try rig.enqueue(queue, Patient())
      try rig.live(worker, until: 100)
      // It was ready at 10, which the clock shows again only at 30.
      #expect(rig.notes() == ["25 a"])
    }
  }

  @Test(arguments: [(86_400, ["0 try", "1 try", "3 try"], 3.0), (-86_400, ["0 try"], 0.0)])
  func `draining is as patient as was meant, though the wall clock is set ahead or back`(
    _ seconds: Int, _ notes: [String], _ end: Double
  ) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: ""))
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, _ in
          rig.note("try")
          rig.skew.withLock { $0 = .seconds(seconds) }
          if seconds < 0 { throw Failure(.limited(delay: .seconds(61))) }
          if rig.seconds < 3 { throw Failure(.failed) }
        }
      }
      try rig.drain(worker, waiting: .seconds(60))
      #expect(rig.notes() == notes)
      #expect(rig.seconds == end)
    }
  }

  @Test func `a deadline begins anew once when the clock was set back to before it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let left = try await context.remaining("stream", of: .seconds(300))
          rig.note("\(Int(left / .seconds(1)))")
          try await rig.clock.sleep(for: left)
        }
      }
      try rig.live(worker, until: 100)
      rig.skew.withLock { $0 = .seconds(-86_400) }
      try rig.live(worker, until: 250)
      try rig.live(worker, until: 1000)
      #expect(rig.notes() == ["0 300", "100 300", "250 150"])
    }
  }

  @Test func `of the jobs that are done the newest are kept, though the clock was set back`()
    throws
  {
    try Rig.run { rig in
      rig.limits.keptDone = 2
      let queue = try rig.open()
      let worker = JobWorker(queue, concurrency: 1) { $0.handle(Tidy.self) { _, _ in } }
      var ids: [JobID] = []
      for hour in 0..<4 {
        if hour == 2 { rig.skew.withLock { $0 = .seconds(-86_400) } }
        ids.append(try rig.enqueue(queue, Tidy(name: "")))
        try rig.drain(worker)
        try rig.perform { try await rig.sleep(3600) }
      }
      #expect(try rig.database.read(queue.records).map(\.id) == Array(ids[2...]))
    }
  }

  @Test func `a delay beyond all reason is a long one`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Endless())
      let worker = JobWorker(queue) {
        $0.handle(Endless.self) { _, context in
          let left = try await context.remaining("ever", of: .seconds(Int64.max))
          #expect(left > .seconds(200_000_000_000))
          throw Failure(.failed)
        }
      }
      try rig.live(worker, until: 10)
      #expect(try rig.record(queue, id).state == .waiting)
      let ready = try rig.database.read { db in
        try String.fetchOne(db, sql: "SELECT ready_at FROM grdb_tern_jobs")
      }
      #expect(ready?.hasPrefix("9999-12-31") == true)
    }
  }

  @Test func `no clock is asked for a wait of centuries`() throws {
    try Rig.run { rig in
      rig.pollInterval = .seconds(Int64.max)
      let clock = ShortClock(clock: rig.clock)
      var environment = rig.environment
      environment.clock = clock
      let queue = try JobQueue.openBlocking(
        rig.database, files: rig.files, environment: environment)
      for name in ["ever", "days"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          let limit = Duration.seconds(job.name == "ever" ? Int64.max : 200_000)
          do {
            _ = try await context.step("wait", within: limit) {
              try await rig.sleep(300_000)
              return true
            }
          } catch {
            rig.note("\(job.name) took too long")
            return
          }
          rig.note(job.name)
        }
      }
      try rig.live(worker, until: 400_000)
      #expect(rig.notes() == ["200000 days took too long", "300000 ever"])
      #expect(clock.longest.withLock { $0 } <= .seconds(86_400))
    }
  }
}

/// Knows how long it was asked to sleep at most.
private final class ShortClock: Clock {
  typealias Instant = VirtualClock.Instant

  let clock: VirtualClock
  let longest = Mutex(Duration.zero)

  init(clock: VirtualClock) { self.clock = clock }

  var now: Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    longest.withLock { $0 = max($0, now.duration(to: deadline)) }
    try await clock.sleep(until: deadline, tolerance: tolerance)
  }
}

private struct Endless: Job {
  static let kind = "endless"
  static let retry = RetryPolicy.doubling(
    from: .seconds(Int64.max), limit: .seconds(Int64.max), times: 3)
}
