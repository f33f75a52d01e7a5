import GRDB
import Tern
import TernJobs
import Testing

@Suite("Queue: looked at from outside")
struct GuestJobQueueTests {
  private let now = WallTime(milliseconds: 1_000_000_000)

  /// One dead job, one parked, one behind a gate, and one that is done.
  private func filled(_ rig: Rig) throws -> JobQueue {
    let queue = try rig.open()
    for name in ["done", "dead"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
    _ = try rig.enqueue(queue, Patient())
    _ = try rig.enqueue(queue, Scan(shelf: "a"))
    try rig.drain(
      JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          if job.name == "dead" { throw JobFailure(.permanent, "no") }
        }
        $0.handle(Scan.self) { _, _ in throw JobFailure(.limited(delay: .seconds(600)), "later") }
      })
    return queue
  }

  @Test func `it has the queue's own records and gates`() throws {
    try Rig.run { rig in
      let queue = try filled(rig)
      try rig.database.read { db in
        let overview = try #require(try GuestJobQueue(db)?.overview())
        #expect(try overview.records == queue.records(in: db))
        #expect(try overview.gates == queue.gates(in: db))
        #expect(Set(overview.records.map(\.state)).count == 4)
        #expect(overview.gates.count == 1)
      }
    }
  }

  @Test func `a job is retried or cancelled as by the queue, and the history is left to the app`()
    throws
  {
    try Rig.run { rig in
      let queue = try filled(rig)
      let records = try rig.database.read { try queue.records(in: $0) }
      let stuck = records.filter { $0.state.isStuck }.map(\.id)
      #expect(stuck.count == 2)
      try rig.database.write { db in
        let guest = try #require(try GuestJobQueue(db))
        #expect(try guest.retry(stuck[0], at: now))
        #expect(try guest.retry(stuck[0], at: now) == false)
        #expect(try guest.cancel(stuck[1], at: now))
        #expect(try guest.cancel(stuck[1], at: now) == false)
        let states = try queue.records(in: db).filter { stuck.contains($0.id) }.map(\.state)
        #expect(Set(states) == [.waiting, .cancelled])
        #expect(try queue.records(in: db).count == records.count)
        let diagnosis = try DatabaseDiagnosis(db)
        #expect(diagnosis.isHealthy, "\(diagnosis.findings)")
      }
    }
  }

  @Test func `a queue of another format is refused by name, and a file without one has none`()
    throws
  {
    try Rig.run { rig in
      #expect(try !rig.database.read { try GuestJobQueue($0) != nil })
      _ = try rig.open()
      try rig.database.write { db in
        for (format, code) in [(3, JobQueueError.Code.olderFormat), (99, .newerFormat)] {
          try db.execute(sql: "UPDATE grdb_tern_jobqueue SET format = \(format)")
          let error = #expect(throws: JobQueueError.self) { _ = try GuestJobQueue(db) }
          #expect(error?.code == code)
        }
        try db.execute(sql: "UPDATE grdb_tern_jobqueue SET format = 4")
        try db.execute(sql: "DROP TABLE grdb_tern_jobcredential")
        let error = #expect(throws: JobQueueError.self) { _ = try GuestJobQueue(db) }
        #expect(error?.code == .olderFormat)
      }
    }
  }
}
