import Foundation
import GRDB
import Synchronization
import Tern
import TestProcesses
import Testing

/// Another connection has the database, or the app has suspended it.
@Suite struct JobBusyTests {
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

  @Test func `a worker outlives the database's suspension, which costs no attempt`() throws {
    try withTemporaryFolder { folder in
      var configuration = Configuration()
      configuration.observesSuspensionNotifications = true
      let database = try DatabaseQueue(path: folder + "/app.sqlite", configuration: configuration)
      let rig = try Rig(seed: 1, database: database, folder: folder)
      rig.pollInterval = .seconds(1)
      let queue = try rig.open()
      let ids = try ["step", "own"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      @Sendable func post(_ name: Notification.Name) {
        NotificationCenter.default.post(name: name, object: nil)
      }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          try await rig.sleep(2)
          if job.name == "own" { try rig.write { try $0.execute(sql: "DELETE FROM book") } }
          try await context.step("find") {
          } commit: {
            try $0.execute(sql: "INSERT INTO book VALUES (?)", arguments: [job.name])
          }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(1)
          post(Database.suspendNotification)
          try await rig.sleep(10)
          post(Database.resumeNotification)
          try await rig.sleep(20)
        }
      }
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done])
      #expect(try ids.map { try rig.record(queue, $0).failures } == [0, 0])
      #expect(try Set(rig.titles()).isSuperset(of: ["own"]))
    }
  }
}
