import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

/// As a former version of the app wrote it.
private struct OldTidy: Job {
  static let kind = Tidy.kind
  var room: String
}

/// What happens as a ``Watched`` is read: only one test has such jobs.
private let migrating = Mutex<(@Sendable () throws -> Void)?>(nil)

private struct Watched: Job {
  static let kind = "watched"
  static let version = 2
  var name: String

  static func migrate(_ payload: Data, from version: Int) throws -> Watched {
    try migrating.withLock { $0 }?()
    return Watched(name: "migrated")
  }
}

@Suite("Worker: jobs that no handler can read")
struct ParkedTests {
  @Test func `a kind without a handler is parked, others go on, and it comes back with one`() throws
  {
    try Rig.run { rig in
      var queue = try rig.open()
      let scan = try rig.enqueue(queue, Scan(shelf: "1"))
      let tidy = try rig.enqueue(queue, Tidy(name: "a"))
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(rig.notes() == ["0 a"])
      #expect(try rig.record(queue, tidy).state == .done)
      #expect(try rig.record(queue, scan).state == .parked)
      #expect(try rig.record(queue, scan).reason == "this app has no handler for jobs “scan”")
      queue = try rig.open()
      try rig.drain(JobWorker(queue) { $0.handle(Scan.self) { job, _ in rig.note(job.shelf) } })
      #expect(rig.notes() == ["0 1"])
      #expect(try rig.record(queue, scan).state == .done)
    }
  }

  /// Read as a text their kind is another one than their rows'.
  @Test func `jobs of a kind that a damaged file made no UTF-8 are all parked`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let ids = try ["a", "b", "c"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      try rig.write {
        try $0.execute(sql: "UPDATE grdb_tern_job SET kind = CAST(x'74696479FF' AS TEXT)")
      }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(try ids.map { try rig.record(queue, $0).state } == [.parked, .parked, .parked])
      #expect(rig.notes() == [])
    }
  }

  @Test func `a payload that cannot be read is parked, and its content stays its own`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, OldTidy(room: "hush"))
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      try rig.drain(worker)
      let record = try rig.record(queue, id)
      #expect(record.state == .parked)
      #expect(record.reason == "its payload cannot be read as a “tidy”: “name” is missing")
      #expect(record.starts == 1)
      try rig.drain(
        JobWorker(queue) { $0.handle(OldTidy.self) { job, _ in rig.note(job.room) } })
      #expect(rig.notes() == ["0 hush"])
    }
  }

  /// It is the app's code, and may be what ends the process: that counts as a death then, and the app's
  /// writer is free meanwhile.
  @Test func `a payload is read by a job that runs, outside of any transaction`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Watched(name: "a"))
      try rig.write { try $0.execute(sql: "UPDATE grdb_tern_job SET version = 1") }
      let worker = JobWorker(queue) { $0.handle(Watched.self) { job, _ in rig.note(job.name) } }
      migrating.withLock { migrating in
        migrating = {
          try rig.write { db in
            let state = try Int.fetchOne(db, sql: "SELECT state FROM grdb_tern_job")
            rig.note(state == JobState.running.rawValue ? "runs" : "\(state ?? -1)")
          }
        }
      }
      defer { migrating.withLock { $0 = nil } }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 runs", "0 migrated"])
    }
  }

  @Test func `a parked job that is retried by hand is looked at again`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Scan(shelf: "1"))
      let worker = JobWorker(queue) { _ in }
      try rig.drain(worker)
      #expect(try rig.write { try queue.retry(id, in: $0) })
      #expect(try rig.record(queue, id).state == .waiting)
      #expect(try rig.write { try queue.retry(id, in: $0) } == false)
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .parked)
    }
  }
}
