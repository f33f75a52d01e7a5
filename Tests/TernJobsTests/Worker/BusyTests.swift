import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TestProcesses
import Testing

/// Another connection has the database, or the app has suspended it.
@Suite("Worker: a database that is busy or suspended", .serialized)
struct JobBusyTests {
  /// Runs something in place of each sleep.
  private struct EventClock: Clock {
    let onSleep: @Sendable () throws -> Void

    var now: ContinuousClock.Instant { ContinuousClock.now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try onSleep()
    }
  }

  private func open(_ path: String, _ onSleep: @escaping @Sendable () throws -> Void)
    async throws -> JobQueue
  {
    try await JobQueue.open(
      DatabaseQueue(path: path), environment: JobEnvironment(clock: EventClock(onSleep: onSleep)))
  }

  private func inFolder(_ body: (String, DatabaseQueue) async throws -> Void) async throws {
    let folder = NSTemporaryDirectory() + "tern-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let other = try DatabaseQueue.leavingTransactionsOpen(folder + "/app.sqlite")
    try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
    try await body(folder + "/app.sqlite", other)
  }

  @Test func `opening waits for another connection's transaction`() async throws {
    try await inFolder { path, other in
      let naps = Mutex(0)
      let queue = try await open(path) {
        let count = naps.withLock { naps in
          naps += 1
          return naps
        }
        if count == 3 { try other.inDatabase { try $0.execute(sql: "COMMIT") } }
      }
      #expect(naps.withLock { $0 } == 3)
      #expect(try await queue.database.read { try queue.records(in: $0) }.isEmpty)
    }
  }

  @Test func `opening gives up on a connection that stays in the way`() async throws {
    try await inFolder { path, other in
      let naps = Mutex(0)
      let error = await #expect(throws: (any Error).self) {
        _ = try await open(path) { naps.withLock { $0 += 1 } }
      }
      let cause = (error as? DatabaseSetupError)?.underlyingError ?? error
      #expect((cause as? DatabaseError)?.resultCode == .SQLITE_BUSY)
      #expect(naps.withLock { $0 } == 12)
      try other.inDatabase { try $0.execute(sql: "COMMIT") }
    }
  }

  /// A rig over a database that can be suspended, with one job for each name.
  private func suspending(
    _ names: [String], _ body: (Rig, JobQueue, [JobID]) throws -> Void
  ) throws {
    try withTemporaryFolder { folder in
      var configuration = Configuration()
      configuration.observesSuspensionNotifications = true
      let database = try DatabaseQueue(path: folder + "/app.sqlite", configuration: configuration)
      let rig = try Rig(seed: 1, database: database, folder: folder)
      rig.pollInterval = .seconds(1)
      let queue = try rig.open()
      try body(rig, queue, names.map { try rig.enqueue(queue, Tidy(name: $0)) })
    }
  }

  @Test func `a worker outlives the database's suspension, which costs no attempt`() throws {
    try suspending(["step", "own"]) { rig, queue, ids in
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          rig.note("\(job.name) \(context.attempt)")
          try await rig.sleep(2)
          if job.name == "own" { try rig.write { try $0.execute(sql: "DELETE FROM book") } }
          try await context.step("find") {
          } commit: {
            try $0.execute(sql: "INSERT INTO book VALUES (?)", arguments: [job.name])
          }
          rig.note("\(job.name) found")
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(1)
          Suspension.begin()
          try await rig.sleep(10)
          Suspension.end()
          try await rig.sleep(20)
        }
      }
      let notes = rig.notes()
      #expect(notes.prefix(2).sorted() == ["0 own 1", "0 step 1"])
      let later = notes.dropFirst(2).map { $0.split(separator: " ", maxSplits: 1) }
      #expect(later.map { $0[1] } == ["step found", "own 1", "own found"])
      // The handlers were ready at 2, and nothing is written before the end of the suspension.
      #expect(later.allSatisfy { Double($0[0])! > 11 })
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done])
      #expect(try ids.map { try rig.record(queue, $0).failures } == [0, 0])
      #expect(try Set(rig.titles()).isSuperset(of: ["own"]))
    }
  }

  @Test func `a commit that is suspended half way runs again, and the step's work does not`() throws
  {
    try suspending(["step"]) { rig, queue, ids in
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          try await context.step("find") {
            rig.note("work, attempt \(context.attempt)")
          } commit: { db in
            rig.note("commit")
            try db.execute(sql: "INSERT INTO book VALUES ('a')")
            if rig.seconds == 0 { Suspension.begin() }
            try db.execute(sql: "INSERT INTO book VALUES ('b')")
            rig.note("committed")
          }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(10)
          Suspension.end()
          try await rig.sleep(20)
        }
      }
      let notes = rig.notes()
      #expect(notes.prefix(2) == ["0 work, attempt 1", "0 commit"])
      #expect(notes.dropFirst(2).map { $0.split(separator: " ")[1] } == ["commit", "committed"])
      #expect(try rig.titles() == ["a", "b"])
      #expect(try rig.record(queue, ids[0]).state == .done)
      #expect(try rig.record(queue, ids[0]).starts == 1)
    }
  }

  @Test func `INV-09: a run that ends while the database is suspended is no death of its jobs`()
    throws
  {
    try suspending(["a"]) { rig, queue, ids in
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in try await rig.sleep(2) } }
      for _ in 1...queue.limits.deaths {
        try rig.perform {
          try await worker.run {
            try await rig.sleep(1)
            Suspension.begin()
            try await rig.sleep(4)
          }
        }
        Suspension.end()
        #expect(try rig.record(queue, ids[0]).state == .running)
      }
      try rig.drain(worker)
      let record = try rig.record(queue, ids[0])
      #expect(record.state == .done && record.starts == queue.limits.deaths + 1)
    }
  }

  @Test func `a run that is cancelled while it waits for the database to begin returns`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let path = rig.files.path.replacing("/files", with: "/app.sqlite")
      let other = try DatabaseQueue.leavingTransactionsOpen(path)
      try other.inDatabase { try $0.execute(sql: "BEGIN EXCLUSIVE") }
      try rig.live(JobWorker(queue) { _ in }, until: 5)
      #expect(rig.seconds == 5)
      try other.inDatabase { try $0.execute(sql: "COMMIT") }
    }
  }
}

/// Of all databases in this process that look out for it.
private enum Suspension {
  static func begin() { post(Database.suspendNotification) }
  static func end() { post(Database.resumeNotification) }

  private static func post(_ name: Notification.Name) {
    NotificationCenter.default.post(name: name, object: nil)
  }
}
