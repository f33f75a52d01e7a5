import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import TestProcesses
import Testing

/// What becomes of a job whose handler is cancelled, by its worker's end or by itself.
@Suite("Worker: handlers that are cancelled")
struct StopTests {
  /// A loop over a stream ends when its task is cancelled as it does when all has come.
  @Test func `a handler that takes its end for the work's is begun again`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          let parts = AsyncStream<Int> { parts in
            parts.yield(context.start)
            if context.start == 2 { parts.finish() }
          }
          for await part in parts { rig.note("part \(part)") }
        }
      }
      try rig.live(worker, until: 5)
      #expect(rig.notes() == ["0 part 1"])
      #expect(try rig.record(queue, id).state == .waiting)
      #expect(try rig.record(queue, id).failures == 0)
      try rig.drain(worker)
      #expect(rig.notes() == ["5 part 2"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `what was all done as the worker stopped is not done again, where steps store it`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          try await context.step("all") { rig.note("all") }
          // Takes no notice of its end.
          try? await rig.sleep(100)
        }
      }
      try rig.live(worker, until: 5)
      try rig.drain(worker)
      #expect(rig.notes() == ["0 all"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a handler that cancels itself fails as any other, and is not begun in a circle`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Patient())
      let other = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Patient.self) { _, context in
          rig.note("\(context.start)")
          withUnsafeCurrentTask { $0?.cancel() }
          try Task.checkCancellation()
        }
        $0.handle(Tidy.self) { _, _ in withUnsafeCurrentTask { $0?.cancel() } }
      }
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["0 1", "10 2", "30 3", "50 4"])
      #expect(try rig.record(queue, id).state == .failed)
      #expect(try rig.record(queue, other).state == .done)
    }
  }

  /// Stops a worker whose jobs run, a second after another process has begun to write.
  private func stop(
    _ rig: Rig, _ queue: JobQueue, while other: DatabaseQueue,
    then: @escaping @Sendable () -> Void = {}
  ) throws {
    let worker = JobWorker(queue) {
      $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) }
    }
    try rig.live(
      worker, until: 5,
      while: {
        try await rig.sleep(4)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        then()
      })
  }

  /// A task that is cancelled sleeps no more; SQLite waits in its place.
  @Test func `an end is stored although another process writes as the worker stops`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let other = try DatabaseQueue.leavingTransactionsOpen(rig.database.path)
      try stop(rig, queue, while: other) { other.commitsSoon() }
      #expect(try rig.record(queue, id).state == .waiting)
      // As another process has it.
      let next = try rig.open()
      try rig.drain(JobWorker(next) { $0.handle(Tidy.self) { _, _ in } })
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.record(queue, id).starts == 2)
      #expect(try rig.database.read { try queue.failedAttempts(of: id, in: $0) }.isEmpty)
      // The app's connection waits for nobody, as it wants to have it.
      #expect(
        try rig.database.write { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 0)
    }
  }

  @Test func `a database that somebody keeps to the end is waited for once, whatever runs`()
    throws
  {
    try withTemporaryFolder { folder in
      // How often SQLite asks whether to wait on: three times where it waits.
      let waits = Mutex(0)
      var configuration = Configuration()
      configuration.busyMode = .callback { count in
        waits.withLock { $0 += 1 }
        return count < 2
      }
      let database = try DatabaseQueue(path: "\(folder)/app.sqlite", configuration: configuration)
      let rig = try Rig(seed: 1, database: database, folder: folder)
      let queue = try rig.open()
      let ids = try ["a", "b", "c"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let other = try DatabaseQueue.leavingTransactionsOpen(database.path)
      try stop(rig, queue, while: other)
      #expect(waits.withLock { $0 } == 3)
      // The app's connection waits as before.
      #expect(throws: DatabaseError.self) { try rig.write { _ in } }
      #expect(waits.withLock { $0 } == 6)
      try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
      #expect(try ids.map { try rig.record(queue, $0).state } == [.running, .running, .running])
    }
  }

  @Test func `an end that the loop waits to store as the worker stops is stored`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["done", "cancelled"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let other = try DatabaseQueue.leavingTransactionsOpen(rig.database.path)
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          try await rig.sleep(job.name == "done" ? 3 : 100)
          rig.note(job.name)
        }
      }
      try rig.live(
        worker, until: 5,
        while: {
          try await rig.sleep(2)
          try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
          try await rig.sleep(2.9)
          other.commitsSoon()
        })
      // As another process has it.
      let next = try rig.open()
      try rig.drain(JobWorker(next) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(rig.notes() == ["3 done", "5 cancelled"])
      #expect(try ids.map { try rig.record(queue, $0).starts } == [1, 2])
      #expect(try ids.flatMap { try rig.failures(queue, $0) } == [])
    }
  }

  @Test func `what is claimed as the worker stops dies of nothing`() throws {
    try Rig.run { rig in
      let path = ScriptedPathSource()
      let other = try DatabaseQueue.leavingTransactionsOpen(rig.database.path)
      // The network changes once its end counts, and another process writes: the worker waits to wake others.
      rig.observers = [
        Meddler { event in
          guard case .failed = event.change else { return }
          path.set(hasRoute: true)
          try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        }
      ]
      let queue = try rig.open()
      let ids = [try rig.enqueue(queue, Patient()), try rig.enqueue(queue, Tidy(name: "a"))]
      let worker = JobWorker(queue, concurrency: 1, path: path) {
        $0.handle(Patient.self) { _, _ in
          try await rig.sleep(3)
          throw Failure(.failed)
        }
        $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) }
      }
      try rig.live(
        worker, until: 5,
        while: {
          try await rig.sleep(4.9)
          other.commitsSoon()
        })
      #expect(try rig.record(queue, ids[1]).starts == 1)
      // As another process has it.
      let next = try rig.open()
      try rig.drain(JobWorker(next) { $0.handle(Tidy.self) { _, _ in } })
      #expect(try rig.record(queue, ids[1]).starts == 2)
      #expect(try rig.failures(queue, ids[1]) == [])
    }
  }
}

/// Does something as it is told of jobs.
private struct Meddler: JobObserver {
  let act: @Sendable (JobEvent) throws -> Void

  init(_ act: @escaping @Sendable (JobEvent) throws -> Void) { self.act = act }

  func observe(_ event: JobEvent) { #expect(throws: Never.self) { try act(event) } }
}

extension DatabaseQueue {
  /// Ends its transaction soon.
  fileprivate func commitsSoon() {
    Thread.detachNewThread {
      // real time: the worker's one thread waits for the lock inside SQLite.
      Thread.sleep(forTimeInterval: 0.3)
      try? self.inDatabase { try $0.execute(sql: "COMMIT") }
    }
  }
}

extension Rig {
  fileprivate func failures(_ queue: JobQueue, _ id: JobID) throws -> [String] {
    try database.read { try queue.failedAttempts(of: id, in: $0) }.map(\.reason)
  }
}
