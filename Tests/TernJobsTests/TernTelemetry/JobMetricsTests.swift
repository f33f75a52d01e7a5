#if Telemetry
import GRDB
import Metrics
import MetricsTestKit
import Tern
import TernJobs
import TernTelemetry
import TernTesting
import Testing

@Suite("TernTelemetry: metrics of jobs")
struct JobMetricsTests {
  private let metrics = TestMetrics()

  private func run(_ body: (Rig, JobQueue) throws -> Void) throws {
    try Rig.run { rig in
      rig.observers = [JobMetrics(queue: "library", factory: metrics)]
      try body(rig, rig.open())
    }
  }

  private func dimensions(_ kind: String, _ outcome: String? = nil) -> [(String, String)] {
    [("queue", "library"), ("kind", kind)] + (outcome.map { [("outcome", $0)] } ?? [])
  }

  private func total(_ label: String, _ kind: String, _ outcome: String? = nil) -> Int64 {
    metrics.counterTotal(label: label, dimensions: dimensions(kind, outcome))
  }

  @Test func `attempts and jobs are counted by kind and outcome, and timed`() throws {
    try run { rig, queue in
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      for name in ["a", "b"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Scan.self) { _, context in
          try await rig.sleep(2)
          if context.start == 1 { throw Failure(.limited(delay: .seconds(30))) }
        }
        $0.handle(Tidy.self) { job, context in
          try await rig.sleep(1)
          if job.name == "b", context.start == 1 { throw Failure(.failed) }
          if job.name == "b" { throw Failure(.permanent) }
        }
      }
      try rig.drain(worker, waiting: .seconds(100))
      #expect(total("tern.jobs.enqueued", "scan") == 1)
      #expect(total("tern.jobs.enqueued", "tidy") == 2)
      #expect(total("tern.jobs.attempts", "scan", "limited") == 1)
      #expect(total("tern.jobs.attempts", "scan", "done") == 1)
      #expect(total("tern.jobs.attempts", "tidy", "failed") == 1)
      #expect(total("tern.jobs.attempts", "tidy", "last") == 1)
      #expect(total("tern.jobs.settled", "tidy", "done") == 1)
      #expect(total("tern.jobs.settled", "tidy", "failed") == 1)
      let runs = try metrics.expectTimer("tern.jobs.run", dimensions("scan", "done"))
      #expect(runs.values == [2_000_000_000])
      let waits = try metrics.expectTimer("tern.jobs.wait", dimensions("scan"))
      #expect(waits.values == [0, 30_000_000_000])
      for kind in ["scan", "tidy"] {
        let running = try metrics.expectMeter("tern.jobs.running", dimensions(kind))
        #expect(running.values.max() == 1 && running.values.last == 0)
      }
      let unfinished = try metrics.expectGauge("tern.jobs.unfinished", [("queue", "library")])
      // The one that failed has not ended.
      #expect(unfinished.values.max() == 3 && unfinished.values.last == 1)
    }
  }

  @Test func `who is cancelled as it runs runs no more, nor who stops with the worker`() throws {
    try run { rig, queue in
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      _ = try rig.enqueue(queue, Tidy(name: "b"))
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in try await rig.sleep(100) } }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          try rig.write { _ = try queue.cancel(id, in: $0) }
          try await rig.sleep(5)
        }
      }
      #expect(total("tern.jobs.settled", "tidy", "cancelled") == 1)
      #expect(total("tern.jobs.attempts", "tidy", "abandoned") == 1)
      #expect(total("tern.jobs.attempts", "tidy", "stopped") == 1)
      let running = try metrics.expectMeter("tern.jobs.running", dimensions("tidy"))
      #expect(running.values.max() == 2 && running.values.last == 0)
    }
  }

  @Test func `who runs as the database ends the worker runs no more`() throws {
    try run { rig, queue in
      for name in ["a", "b"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in
          try await rig.sleep(job.name == "a" ? 1 : 100)
          try rig.write { try $0.execute(sql: "DROP TABLE grdb_tern_jobqueue") }
        }
      }
      let error = try rig.die(worker) as? JobQueueError
      #expect(error?.code == .notInstalled)
      let running = try metrics.expectMeter("tern.jobs.running", dimensions("tidy"))
      #expect(running.values.max() == 2 && running.values.last == 0)
    }
  }

  @Test func `a hundred jobs of one kind make as many series as one`() throws {
    try run { rig, queue in
      try rig.write { db in
        for number in 0..<100 {
          try queue.enqueue(
            Tidy(name: "\(number)"), lane: "lane \(number)", service: "service \(number)", in: db)
        }
      }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      let labels = [
        "tern.jobs.enqueued", "tern.jobs.attempts", "tern.jobs.settled",
      ]
      #expect(labels.map { metrics.counters(label: $0).count } == [1, 1, 1])
      #expect(metrics.timers(label: "tern.jobs.run").count == 1)
      #expect(total("tern.jobs.settled", "tidy", "done") == 100)
    }
  }
}
#endif
