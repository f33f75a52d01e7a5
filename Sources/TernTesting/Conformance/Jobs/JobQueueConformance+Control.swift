import GRDB
import Tern
import TernJobs

extension JobQueueConformance {
  func checkPause() throws {
    try stage { stage in
      stage.start { handlers in
        handlers.handle(Errand.self) { job, _ in stage.note(job.name) }
        handlers.handle(Call.self) { job, _ in stage.note(job.name) }
      }
      try stage.write { db in
        try stage.jobs.pause(Errand.kind, in: db)
        try stage.jobs.enqueue(Errand(name: "errand"), in: db)
        try stage.jobs.enqueue(Call(name: "call"), in: db)
      }
      let waits = try stage.harness.settle()
      try stage.requireNotes(.drains, ["0 call"], "what ran while a kind was paused")
      try requireEqual(.drains, waits.map(\.reason), [.pause], "what waits while it is paused")
      try stage.write { db in
        try stage.jobs.pause(in: db)
        try stage.jobs.resume(Errand.kind, in: db)
      }
      try stage.harness.crash()
      try stage.harness.settle()
      try stage.requireNotes(.drains, [], "what ran while all was paused, over a death")
      try stage.write { try stage.jobs.resume(in: $0) }
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["0 errand"], "what ran after it was resumed")
    }
  }

  func checkCancelWaiting() throws {
    try stage { stage in
      stage.start { $0.handle(Errand.self) { job, _ in stage.note(job.name) } }
      let id = try stage.write { db in
        let id = try stage.jobs.enqueue(Errand(name: "cancelled"), in: db)
        try require(.drains, try stage.jobs.cancel(id, in: db), "a waiting job was not cancelled")
        return id
      }
      try stage.harness.drain()
      try stage.requireNotes(.drains, [], "what ran of a cancelled job")
      try stage.requireState(.drains, id, .cancelled, "after it was cancelled")
    }
  }

  func checkCancelRunning() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in
          try await context.step("before") {
          } commit: {
            try JobStage.addEffect("before", in: $0)
          }
          do {
            try await stage.clock.sleep(for: .seconds(60))
          } catch {
            stage.note("told")
          }
          do {
            try await context.step("after") {
            } commit: {
              try JobStage.addEffect("after", in: $0)
            }
          } catch let error as JobQueueError where error.code == .notRunning {
            stage.note("refused")
          }
        }
      }
      let id = try stage.enqueue(Errand(name: "cancelled"))
      try stage.harness.advance(by: .seconds(10))
      try stage.write { db in
        try require(.drains, try stage.jobs.cancel(id, in: db), "a running job was not cancelled")
      }
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["10 told", "10 refused"], "what a cancelled handler saw")
      try stage.requireState(.drains, id, .cancelled, "after it was cancelled")
      try requireEqual(.effectsHappenOnce, stage.effects(), ["before"], "rows of a cancelled job")
    }
  }

  func checkOneWorker() throws {
    try stage { stage in
      stage.start { $0.handle(Errand.self) { job, _ in stage.note(job.name) } }
      try stage.harness.drain()
      let second = JobWorker(stage.jobs, path: UnknownPathSource()) {
        $0.handle(Errand.self) { _, _ in stage.note("second") }
      }
      do {
        _ = try stage.harness.perform { try await second.drain() }
        throw ConformanceFailure(.effectsHappenOnce, "a second worker began beside the first")
      } catch let error as JobQueueError {
        try require(
          .effectsHappenOnce, error.code == .workerRunning, "a second worker ended by: \(error)")
      }
      try stage.enqueue(Errand(name: "first"))
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["0 first"], "what ran after another worker was refused")
      try stage.harness.stop()
      try stage.enqueue(Errand(name: "later"))
      _ = try stage.harness.perform { try await second.drain() }
      try stage.requireNotes(.drains, ["0 second"], "what ran after the first worker ended")
    }
  }

  func checkAnnouncements() throws {
    try stage { stage in
      // By the system where it tells of files, so not in virtual time.
      var environment = stage.jobs.environment
      environment.watchesFiles = true
      let jobs = try JobQueue.openBlocking(stage.database, environment: environment)
      for (what, write) in [
        ("a job", { try jobs.enqueue(Errand(name: "1"), in: $0) } as (Database) throws -> JobID?),
        (
          "an announcement",
          {
            try jobs.announce(in: $0)
            return nil
          }
        ),
      ] {
        let stream = jobs.announcements()
        _ = try stage.write(write)
        let isTold = try stage.harness.perform {
          var iterator = stream.makeAsyncIterator()
          return await iterator.next() != nil
        }
        try require(.drains, isTold, "\(what) was not told to who follows the queue")
      }
    }
  }
}
