import Foundation
import GRDB
import Synchronization
import Tern
@_spi(Rehearsal) import TernCore
import TernJobs
import TernTesting
import Testing

/// What observers are told where a job waits, or ends otherwise than by its handler.
@Suite("Events: jobs that wait, or that their handler does not end")
struct ObservedEndTests {
  @Test func `what holds back the first of a line is told once, and again when it is another`()
    throws
  {
    struct Slow: Job {
      static let kind = "slow"
      static let pace = JobPace(rate: JobRate(1, per: .seconds(10)))
    }
    try Rig.observed { rig in
      rig.path.set(hasRoute: false)
      let queue = try rig.open()
      try rig.write { db in
        try queue.pause(Tidy.kind, in: db)
        try queue.enqueue(Tidy(name: "a"), in: db)
        try queue.enqueue(Tidy(name: "behind"), in: db)
        try queue.enqueue(Scan(shelf: "1"), requires: .network, in: db)
        try queue.enqueue(Slow(), in: db)
        try queue.enqueue(Slow(), in: db)
      }
      _ = rig.notes()
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, _ in }
        $0.handle(Scan.self) { _, _ in }
        $0.handle(Slow.self) { _, _ in }
      }
      try rig.drain(worker, waiting: .seconds(60))
      let notes = rig.notes()
      #expect(
        Set(notes.filter { $0.contains("held") })
          == ["0 #1 held by pause", "0 #3 held by requirement", "0 #5 held by pace"])
      #expect(notes.filter { $0.contains("held") }.count == 3)
      #expect(notes.contains("10 #5 started after 10.0 (1, start 1)"))
    }
  }

  @Test func `what holds a job is told while others start, and again when it is another`() throws {
    try Rig.observed { rig in
      rig.path.set(hasRoute: false)
      let queue = try rig.open()
      try rig.write { db in
        try queue.pause(Scan.kind, in: db)
        try queue.enqueue(Scan(shelf: "1"), requires: .network, in: db)
        for name in ["a", "b", "c"] { try queue.enqueue(Tidy(name: name), in: db) }
      }
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Scan.self) { _, _ in }
        $0.handle(Tidy.self) { _, _ in try await rig.sleep(2) }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(3)
          try rig.write { try queue.resume(Scan.kind, in: $0) }
          try await rig.sleep(2)
        }
      }
      #expect(
        rig.notes().filter { $0.contains("#1 held") }
          == ["0 #1 held by pause", "4 #1 held by requirement"])
    }
  }

  @Test func `a job is told to be parked, with the cause, and to be back`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      try rig.drain(JobWorker(queue) { _ in })
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Scan.self) { _, context in
            // What another version of the app stored.
            throw JobQueueError(.unreadable, "it cannot be read")
          }
        })
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0", "0 #1 parked: noHandler", "0 #1 retried",
          "0 #1 started after 0.0 (1, start 1)", "0 #1 parked: unreadable (1, start 1)",
        ])
    }
  }

  @Test(arguments: [true, false])
  func `a job that is cancelled or removed while it runs is told, and its attempt's end`(
    _ isRemoved: Bool
  ) throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) } }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          try rig.write { db in
            _ = try isRemoved ? queue.remove(id, in: db) : queue.cancel(id, in: db)
          }
          try await rig.sleep(5)
        }
      }
      #expect(
        rig.notes().dropFirst(2)
          == ["5 #1 \(isRemoved ? "removed" : "cancelled")", "5 #1 abandoned (1, start 1)"])
    }
  }

  @Test func `a job that stops with its worker is told to, and costs nothing`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) } }
      try rig.live(worker, until: 5)
      try rig.live(worker, until: 7)
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)",
          "5 #1 stopped after 5.0 (1, start 1)", "5 #1 started after 0.0 (1, start 2)",
          "7 #1 stopped after 2.0 (1, start 2)",
        ])
    }
  }

  #if Rehearsal
  /// - Returns: what is told until the process dies at a point, and then in the next one.
  private func lives(_ point: CrashPoint) throws -> (before: [String], after: [String]) {
    struct Dead: Error {}
    var told: (before: [String], after: [String]) = ([], [])
    try Rig.observed { rig in
      func worker(_ queue: JobQueue) -> JobWorker {
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in _ = try await context.step("work") { 1 } }
        }
      }
      do {
        // Whatever the dead still do must not be committed.
        let isDead = Mutex(false)
        try CrashPoint.with({ reached in
          if reached == point { isDead.withLock { $0 = true } }
          if isDead.withLock({ $0 }) { throw Dead() }
        }) {
          let queue = try rig.open()
          _ = try rig.enqueue(queue, Tidy(name: "a"))
          try rig.drain(worker(queue))
        }
      } catch is Dead {}
      told.before = rig.notes()
      try rig.drain(worker(rig.open()))
      told.after = rig.notes()
    }
    return told
  }

  @Test func `a crash before a commit tells nothing of it`() throws {
    let enqueueing = try lives(.jobBeforeEnqueueCommit)
    #expect(enqueueing.before == [] && enqueueing.after == [])
    let stepping = try lives(.jobBeforeStepCommit)
    #expect(stepping.before.last == "0 #1 started after 0.0 (1, start 1)")
    let finishing = try lives(.jobBeforeFinishCommit)
    #expect(finishing.before.last == "0 #1 stepped work (1, start 1)")
  }

  @Test func `the worker that takes over tells of the death, and goes on with the story`() throws {
    let claimed = try lives(.jobAfterClaim)
    #expect(
      claimed.before == ["0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)"])
    #expect(
      claimed.after == [
        "0 #1 died 1 (1, start 1)", "0 #1 started after 0.0 (1, start 2)",
        "0 #1 stepped work (1, start 2)", "0 #1 done in 0.0 at 0.0 (1, start 2)",
      ])
  }
  #endif
}
