import Foundation
import GRDB
import Tern
import Testing

/// As a former version of the app wrote it.
private struct OldTidy: Job {
  static let kind = Tidy.kind
  var room: String
}

@Suite struct ParkedTests {
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

  @Test func `a payload that cannot be read is parked, and its content stays its own`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, OldTidy(room: "hush"))
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      try rig.drain(worker)
      let record = try rig.record(queue, id)
      #expect(record.state == .parked)
      #expect(record.reason == "its payload cannot be read as a “tidy”: “name” is missing")
      #expect(record.starts == 0)
      try rig.drain(
        JobWorker(queue) { $0.handle(OldTidy.self) { job, _ in rig.note(job.room) } })
      #expect(rig.notes() == ["0 hush"])
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
