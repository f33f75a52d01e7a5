import Foundation
import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// What has to be there while a job runs.
@Suite("Job: what a job requires of the network")
struct RequirementTests {
  private struct Upload: Job {
    static let kind = "upload"
    static let requirement = JobRequirement.network
    var name: String
  }

  private func enqueue(
    _ rig: Rig, _ queue: JobQueue, _ name: String, _ requirement: JobRequirement = .nothing,
    priority: Int = 0
  ) throws -> JobID {
    try rig.write {
      try queue.enqueue(Tidy(name: name), priority: priority, requires: requirement, in: $0)
    }
  }

  private func worker(_ rig: Rig, _ queue: JobQueue) -> JobWorker {
    JobWorker(queue, concurrency: 1, path: rig.path) {
      $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      $0.handle(Upload.self) { job, _ in rig.note(job.name) }
    }
  }

  /// Nobody but a request finds out that a portal was passed.
  @Test(arguments: [JobRequirement.network, .unmetered, .endpoint("scans")])
  func `a route that requests found dead keeps no job from trying`(_ requirement: JobRequirement)
    throws
  {
    try Rig.run { rig in
      rig.path.correct(rig.path.path.generation, hasRoute: false, isCaptive: true)
      #expect(!rig.path.path.hasRoute && rig.path.path.isDoubted)
      let queue = try rig.open()
      _ = try enqueue(rig, queue, "tried", requirement)
      try rig.drain(worker(rig, queue))
      #expect(rig.notes() == ["0 tried"])
      // The system knows what it says: there is none.
      rig.path.set(hasRoute: false)
      #expect(!rig.path.path.isDoubted)
      _ = try enqueue(rig, queue, "waits", requirement)
      try rig.drain(worker(rig, queue))
      #expect(rig.notes().isEmpty)
    }
  }

  @Test func `a network that goes and comes is seen while no slot is free`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { _ = try queue.enqueue(Scan(shelf: "1"), in: $0) }
      let waiting = try rig.enqueue(queue, Upload(name: "later"))
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Scan.self) { _, _ in try await rig.sleep(100) }
        $0.handle(Upload.self) { _, _ in }
      }
      let seen = try rig.perform {
        var seen: [Bool] = []
        try await worker.run {
          for hasRoute in [true, false, true] {
            rig.path.set(hasRoute: hasRoute)
            try await rig.sleep(1)
            seen.append(try rig.record(queue, waiting).isRequirementMet)
          }
        }
        return seen
      }
      #expect(seen == [true, false, true])
    }
  }

  @Test func `a job that requires a network waits for one, and the others go`() throws {
    try Rig.run { rig in
      rig.path.set(hasRoute: false)
      let queue = try rig.open()
      let first = try enqueue(rig, queue, "sent", .network, priority: 9)
      let second = try rig.enqueue(queue, Upload(name: "uploaded"))
      _ = try enqueue(rig, queue, "tidied")
      let worker = worker(rig, queue)
      try rig.drain(worker, waiting: .seconds(1000))
      #expect(rig.notes() == ["0 tidied"])
      for id in [first, second] {
        let record = try rig.record(queue, id)
        #expect(record.state == .waiting && record.requirement == .network)
        #expect(!record.isRequirementMet && record.starts == 0)
      }
      let seen = try rig.database.read { db in
        try Row.fetchAll(
          db, sql: "SELECT requires, is_met FROM grdb_tern_jobs WHERE state = 'waiting' ORDER BY id"
        ).map { "\($0[0] as String) \($0[1] as Int)" }
      }
      #expect(seen == ["any 0", "any 0"])
      _ = try rig.perform {
        try await worker.run {
          try await rig.sleep(3)
          rig.path.set(hasRoute: true)
          try await rig.sleep(1)
        }
      }
      #expect(rig.notes() == ["3 sent", "3 uploaded"])
      #expect(try rig.record(queue, first).isRequirementMet)
    }
  }

  @Test func `a network that goes is seen, and a job that does not require it goes on`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let running = try enqueue(rig, queue, "long")
      let worker = JobWorker(queue, concurrency: 2, path: rig.path) {
        $0.handle(Tidy.self) { job, _ in
          if job.name == "long" { try await rig.sleep(10) }
          rig.note(job.name)
        }
      }
      _ = try rig.perform {
        try await worker.run {
          try await rig.sleep(1)
          rig.path.set(hasRoute: false)
          try await rig.sleep(1)
          let next = try enqueue(rig, queue, "next", .network)
          try await rig.sleep(1)
          let (waits, runs) = (try rig.record(queue, next), try rig.record(queue, running))
          #expect(!waits.isRequirementMet && runs.state == .running)
          try await rig.sleep(10)
        }
      }
      #expect(rig.notes() == ["10 long"])
      // It is looked at anew by each run.
      rig.path.set(hasRoute: true)
      try rig.drain(worker)
      #expect(rig.notes() == ["13 next"])
    }
  }

  @Test(arguments: [(true, false), (false, true), (true, true)])
  func `one that requires an unmetered network waits where the network is expensive or constrained`(
    isExpensive: Bool, isConstrained: Bool
  ) throws {
    try Rig.run { rig in
      rig.path.set(hasRoute: true, isExpensive: isExpensive, isConstrained: isConstrained)
      let queue = try rig.open()
      _ = try enqueue(rig, queue, "large", .unmetered)
      _ = try enqueue(rig, queue, "small", .network)
      let worker = worker(rig, queue)
      try rig.drain(worker)
      #expect(rig.notes() == ["0 small"])
      rig.path.set(hasRoute: true)
      try rig.drain(worker)
      #expect(rig.notes() == ["0 large"])
    }
  }

  @Test func `an endpoint is waited for by those alone that require it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      rig.path.block("https://a.example")
      let waiting = try enqueue(rig, queue, "a", .endpoint("https://a.example"))
      _ = try enqueue(rig, queue, "b", .endpoint("https://b.example"))
      let worker = worker(rig, queue)
      try rig.drain(worker)
      #expect(rig.notes() == ["0 b"])
      let record = try rig.record(queue, waiting)
      #expect(record.requirement == .endpoint("https://a.example") && !record.isRequirementMet)
      rig.path.unblock("https://a.example")
      try rig.drain(worker)
      #expect(rig.notes() == ["0 a"])
    }
  }

  /// Read as a text it is another one, behind which its own row stands.
  @Test func `a requirement that a damaged file made no UTF-8 holds nobody up`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      for name in ["a", "b", "c"] { _ = try enqueue(rig, queue, name, .endpoint(name)) }
      try rig.write { db in
        try db.execute(
          sql: """
            UPDATE grdb_tern_job SET needs = CAST(x'616E7920FF' AS TEXT) WHERE id = 1;
            UPDATE grdb_tern_job SET needs = CAST(x'616E7920FE' AS TEXT) WHERE id = 2
            """)
      }
      try rig.drain(worker(rig, queue))
      #expect(rig.notes().sorted() == ["0 a", "0 b", "0 c"])
    }
  }

  @Test func `one that a gate holds too is not waited for after the gate's time`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.write {
        try queue.enqueue(Scan(shelf: "1"), requires: .network, in: $0)
      }
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Scan.self) { _, _ in
          rig.note("try")
          rig.path.set(hasRoute: false)
          throw Failure(.limited(delay: .seconds(20)))
        }
      }
      try rig.drain(worker, waiting: .seconds(100))
      #expect(rig.notes() == ["0 try"])
      #expect(try rig.record(queue, id).state == .waiting)
      #expect(rig.seconds < 100)
    }
  }

  @Test func `a requirement is replaced with the job, and an endpoint's name has a limit`() throws {
    try Rig.run { rig in
      rig.limits.keyBytes = 20
      let queue = try rig.open()
      let id = try rig.write { db in
        let id = try queue.enqueue(
          Tidy(name: ""), unique: .replace("k"), requires: .unmetered, in: db)
        #expect(try queue.record(id, in: db)?.requirement == .unmetered)
        try queue.enqueue(
          Tidy(name: ""), unique: .replace("k"), requires: .endpoint("e"), in: db)
        return id
      }
      #expect(try rig.record(queue, id).requirement == .endpoint("e"))
      let error = #expect(throws: JobQueueError.self) {
        try enqueue(rig, queue, "", .endpoint(String(repeating: "e", count: 21)))
      }
      #expect(error?.code == .keyTooLong)
    }
  }
}
