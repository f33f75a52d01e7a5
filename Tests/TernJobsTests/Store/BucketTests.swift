import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// What is kept of lanes that had a rate.
@Suite("Store: what is kept of lanes that had a rate")
struct BucketTests {
  private struct Ping: Job {
    static let kind = "ping"
    static let lanePace = JobPace(rate: JobRate(1, per: .seconds(5)))
  }

  @Test func `a worker that is never idle forgets the lanes that nobody uses any more`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "always there"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in try await rig.sleep(10_000) }
        $0.handle(Ping.self) { _, _ in rig.note("ping") }
      }
      let most = try rig.perform {
        var most = 0
        try await worker.run {
          for host in 0..<120 {
            try rig.write { _ = try queue.enqueue(Ping(), lane: "host \(host)", in: $0) }
            try await rig.sleep(1)
            let count = try rig.write {
              try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_tern_jobbucket") ?? 0
            }
            most = max(most, count)
          }
        }
        return most
      }
      #expect(rig.notes().count == 120)
      // Those of a minute, and what five seconds fill.
      #expect(most <= 66)
    }
  }
}
