import GRDB
import Tern
import TernJobs
import Testing

/// What the view says of jobs that a budget or a pace holds back.
@Suite("Store: what the view says of jobs that are held back")
struct HoldViewTests {
  private struct Fetch: Job {
    static let kind = "fetch"
    static let lanePace = JobPace(rate: JobRate(1, per: .seconds(5)))
  }

  /// The times of a column for the jobs that wait, in the order of their ids.
  private func times(_ rig: Rig, _ column: String) throws -> [String?] {
    try rig.database.read {
      try Optional<String>.fetchAll(
        $0, sql: "SELECT \(column) FROM grdb_tern_jobs WHERE state = 'waiting' ORDER BY id")
    }
  }

  @Test func `a spent retry budget is seen with the time of its next token`() throws {
    try Rig.run { rig in
      rig.retryBudget = JobRate(1, per: .seconds(10), burst: 2)
      let queue = try rig.open()
      for number in 1...3 { _ = try rig.enqueue(queue, Scan(shelf: "\(number)")) }
      _ = try rig.enqueue(queue, Tidy(name: "other"))
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Scan.self) { job, _ in
          rig.note(job.shelf)
          throw Failure(.failed)
        }
        $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) }
      }
      #expect(try times(rig, "budget_until") == [nil, nil, nil, nil])
      try rig.live(worker, until: 0.5)
      #expect(rig.notes() == ["0 1", "0 2"])
      let until = "1970-01-12T13:46:50.000Z"
      #expect(try times(rig, "budget_until") == [until, until, until, nil])
      #expect(try times(rig, "pace_until") == [nil, nil, nil, nil])
    }
  }

  @Test func `a lane whose rate is used up is seen with the time of its next token`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for lane in ["a", "a", "b"] { try queue.enqueue(Fetch(), lane: lane, in: db) }
        try queue.pause(Tidy.kind, in: db)
        try queue.enqueue(Tidy(name: ""), in: db)
      }
      let worker = JobWorker(queue) {
        $0.handle(Fetch.self) { _, _ in rig.note("fetch") }
        $0.handle(Tidy.self) { _, _ in }
      }
      try rig.live(worker, until: 0.5)
      #expect(rig.notes() == ["0 fetch", "0 fetch"])
      #expect(try times(rig, "pace_until") == ["1970-01-12T13:46:45.000Z", nil])
    }
  }
}
