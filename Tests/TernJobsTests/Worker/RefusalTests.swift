import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// An observer of the app's refuses what a job wants to commit.
@Suite("Worker: commits that the app refuses")
struct RefusalTests {
  @Test(
    arguments: [
      Failure(.failed), DatabaseError(resultCode: .SQLITE_ERROR, message: "the service would not"),
    ] as [any Error])
  func `what an observer of the app's refuses fails its own job, and the next one goes on`(
    _ refusal: any Error
  ) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["step", "end", "good"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let observer = Refusal()
      rig.database.add(transactionObserver: observer)
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note("\(job.name) \(context.attempt)")
          _ = try await context.step("find") {
            true
          } commit: { _, _ in
            if job.name == "step" { observer.refuses(refusal) }
          }
          // Beside the next one's claim, and alone.
          if job.name == "end", context.attempt == 1 { observer.refuses(refusal, times: 2) }
        }
      }
      try rig.live(worker, until: 20)
      #expect(
        rig.notes() == [
          "0 step 1", "0 end 1", "0 good 1", "1 step 2", "1 end 2", "3 step 3", "7 step 4",
        ])
      #expect(try ids.map { try rig.record(queue, $0).state } == [.failed, .done, .done])
      #expect(try rig.record(queue, ids[0]).reason?.hasSuffix("the service would not") == true)
    }
  }

  @Test func `a job whose failure is refused too waits to be stored, and others go on`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["bad", "good"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let observer = Refusal()
      rig.database.add(transactionObserver: observer)
      let worker = JobWorker(queue, concurrency: 2) {
        $0.handle(Tidy.self) { job, context in
          rig.note("\(job.name) \(context.attempt)")
          if job.name == "good" {
            try await rig.sleep(0.5)
            try await context.step("find") { rig.note("found") }
          } else if context.attempt == 1 {
            observer.refuses(Failure(.failed), times: 3)
          }
        }
      }
      try rig.live(worker, until: 20)
      // After a second its failure is stored, and its retry comes a second later.
      #expect(rig.notes().sorted() == ["0 bad 1", "0 good 1", "0.5 found", "2 bad 2"])
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done])
      #expect(try rig.record(queue, ids[0]).failures == 1)
    }
  }

  @Test func `what the app refuses costs nothing of its service's budget`() throws {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 1)
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      let observer = Refusal()
      rig.database.add(transactionObserver: observer)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          rig.note("\(context.attempt)")
          if context.attempt == 1 { observer.refuses(Failure(.failed), times: 2) }
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["0 1", "1 2"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test(
    arguments: [
      ("constraint", true), ("observer", true), ("caught", false), ("outside", false),
      ("code", false),
    ])
  func `what the database refuses in a step costs nothing of its service's budget`(
    _ author: String, _ isFree: Bool
  ) throws {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 1)
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: ""))
      let observer = Refusal()
      rig.database.add(transactionObserver: observer)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          rig.note("\(context.attempt)")
          if context.attempt > 1 { return }
          do {
            try await context.step("find") {
            } commit: { db in
              switch author {
              case "constraint": try db.execute(sql: "INSERT INTO book (title) VALUES (NULL)")
              case "code": throw Failure(.failed)
              default: observer.refuses(Failure(.failed))
              }
            }
          } catch  where author == "caught" {
            try await context.step("ask again") { throw Failure(.failed) }
          } catch  where author == "outside" {
            throw JobFailure(.failed, "it failed outside of a step")
          }
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == (isFree ? ["0 1", "1 2"] : ["0 1"]))
    }
  }

  @Test func `draining ends with the app's error when all that is left is what the app refuses`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["bad", "good"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let observer = Refusal()
      rig.database.add(transactionObserver: observer)
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          guard job.name == "bad" else { return }
          try await rig.sleep(1)
          observer.refuses(Failure(.failed), times: .max)
        }
      }
      #expect(throws: Failure.self) { try rig.drain(worker) }
      #expect(rig.seconds == 1)
      #expect(try rig.record(queue, ids[1]).state == .done)
      observer.refuses(Failure(.failed), times: 0)
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      #expect(try rig.record(queue, ids[0]).state == .done)
    }
  }

  @Test func `an end that the app refuses keeps no other from being stored as the worker stops`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["bad", "good"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      try rig.write { db in
        try db.execute(
          sql: """
            CREATE TRIGGER refusal BEFORE UPDATE OF state ON grdb_tern_job
            WHEN OLD.id = \(ids[0]) AND OLD.state = \(JobState.running.rawValue)
            BEGIN SELECT raise(ABORT, 'it is not to end'); END
            """)
      }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          if job.name == "bad" { throw Failure(.failed) }
          do {
            try await rig.sleep(100)
          } catch {
            // Its end comes after the other one's has been given up.
            for _ in 1...100 { await Task.yield() }
            throw error
          }
        }
      }
      try rig.live(worker, until: 5)
      #expect(try ids.map { try rig.record(queue, $0).state } == [.running, .waiting])
    }
  }
}

/// An app's observer that refuses commits.
final class Refusal: TransactionObserver, Sendable {
  private let due = Mutex<(error: (any Error)?, times: Int)>((nil, 0))

  func refuses(_ error: any Error, times: Int = 1) { due.withLock { $0 = (error, times) } }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}

  func databaseWillCommit() throws {
    try due.withLock { due in
      guard due.times > 0, let error = due.error else { return }
      due.times -= 1
      throw error
    }
  }
}
