import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// What becomes of an attempt when that goes which its job requires.
@Suite("Job: a requirement that goes while its job runs")
struct LostRequirementTests {
  private func enqueue(
    _ rig: Rig, _ queue: JobQueue, _ name: String, _ requirement: JobRequirement
  ) throws -> JobID {
    try rig.write { try queue.enqueue(Tidy(name: name), requires: requirement, in: $0) }
  }

  private func worker(_ rig: Rig, _ queue: JobQueue, slots: Int = 4) -> JobWorker {
    JobWorker(queue, concurrency: slots, path: rig.path) {
      $0.handle(Tidy.self) { job, context in
        rig.note("\(job.name) \(context.start)")
        do {
          try await rig.sleep(20)
          rig.note("\(job.name) done")
        } catch {
          rig.note("\(job.name) ends")
          throw error
        }
      }
    }
  }

  /// INV-09: at once, at no cost, and again as soon as it is there.
  @Test(arguments: [JobRequirement.network, .unmetered, .endpoint("scans")])
  func `the attempt ends at no cost, and the job waits`(_ requirement: JobRequirement) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "large", requirement)
      let other = try enqueue(rig, queue, "small", .nothing)
      try rig.live(
        worker(rig, queue), until: 60,
        while: {
          try await rig.sleep(5)
          switch requirement {
          case .network: rig.path.set(hasRoute: false)
          case .unmetered: rig.path.set(hasRoute: true, isExpensive: true)
          default: rig.path.block("scans")
          }
          try await rig.sleep(2)
          let record = try rig.record(queue, id)
          #expect(record.state == .waiting && record.failures == 0 && record.unreached == 0)
          #expect(!record.isRequirementMet)
          try await rig.sleep(23)
          rig.path.unblock("scans")
          rig.path.set(hasRoute: true)
        })
      #expect(
        rig.notes().sorted() == [
          "0 large 1", "0 small 1", "20 small done", "30 large 2", "5 large ends", "50 large done",
        ])
      #expect(try rig.record(queue, other).starts == 1)
      #expect(try rig.database.read { try queue.failedAttempts(of: id, in: $0) }.isEmpty)
    }
  }

  @Test func `another network that has it too disturbs nobody`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try enqueue(rig, queue, "large", .unmetered)
      try rig.live(
        worker(rig, queue), until: 30,
        while: {
          try await rig.sleep(5)
          rig.path.set(hasRoute: true)
          rig.path.correct(rig.path.path.generation, hasRoute: false, isCaptive: true)
        })
      #expect(rig.notes() == ["0 large 1", "20 large done"])
    }
  }

  /// A path changes between the look for jobs and their first line.
  @Test func `a job that is claimed as its network goes ends as well`() throws {
    struct Meddler: JobObserver {
      let path: ScriptedPathSource
      func observe(_ event: JobEvent) {
        guard case .started = event.change, !path.path.isExpensive, event.attempt?.start == 1 else {
          return
        }
        path.set(hasRoute: true, isExpensive: true)
      }
    }
    try Rig.run { rig in
      rig.observers = [Meddler(path: rig.path)]
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "large", .unmetered)
      try rig.live(
        worker(rig, queue), until: 60,
        while: {
          try await rig.sleep(10)
          #expect(try rig.record(queue, id).state == .waiting)
          rig.path.set(hasRoute: true)
        })
      #expect(rig.notes() == ["0 large 1", "0 large ends", "10 large 2", "30 large done"])
    }
  }

  @Test func `it ends although another process writes`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try enqueue(rig, queue, "large", .unmetered)
      let other = try DatabaseQueue.leavingTransactionsOpen(rig.database.path)
      try rig.live(
        worker(rig, queue), until: 19,
        while: {
          try await rig.sleep(5)
          try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
          rig.path.set(hasRoute: true, isExpensive: true)
          try await rig.sleep(10)
          try other.inDatabase { try $0.execute(sql: "COMMIT") }
        })
      #expect(rig.notes() == ["0 large 1", "5 large ends"])
    }
  }

  @Test func `a handler that takes no notice keeps its slot, and what its steps store`() throws {
    try Rig.run { rig in
      let latch = Latch()
      let queue = try rig.open()
      let id = try enqueue(rig, queue, "large", .unmetered)
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Tidy.self) { _, context in
          rig.note("start")
          await latch.wait()
          try await context.step("one") {
          } commit: { db in
            try db.execute(sql: "INSERT INTO book VALUES ('one')")
          }
        }
      }
      try rig.live(
        worker, until: 100,
        while: {
          try await rig.sleep(5)
          rig.path.set(hasRoute: true, isExpensive: true)
          try await rig.sleep(30)
          #expect(try rig.record(queue, id).state == .running)
          latch.open()
          try await rig.sleep(5)
          #expect(try rig.record(queue, id).state == .waiting)
          rig.path.set(hasRoute: true)
        })
      #expect(rig.notes() == ["0 start", "40 start"])
      #expect(try rig.titles() == ["one"])
      let record = try rig.record(queue, id)
      #expect(record.state == .done && record.failures == 0)
    }
  }
}
