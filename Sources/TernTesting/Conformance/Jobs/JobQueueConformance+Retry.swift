import GRDB
import Tern
import TernJobs

extension JobQueueConformance {
  func checkRetry() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in
          stage.note("try")
          try await context.step("once") {}
          try await context.step("ask") {
            stage.note("ask")
            throw JobFailure(.failed, "the service would not")
          }
        }
      }
      let id = try stage.enqueue(Errand(name: "hopeless"))
      try stage.harness.drain()
      try stage.requireNotes(
        .drains, ["0 try", "0 ask", "1 try", "1 ask", "3 try", "3 ask", "7 try", "7 ask"],
        "attempts under the standard policy, and what each asks")
      let record = try stage.record(id)
      try requireEqual(.drains, record?.state, .failed, "the state after the last attempt")
      try requireEqual(.drains, record?.failures, 4, "failures that count")
      try requireEqual(
        .drains, record?.reason, "the service would not", "why the job failed")
    }
  }

  func checkUncounted() throws {
    try stage { stage in
      stage.start(concurrency: 2) {
        $0.handle(Errand.self) { job, context in
          stage.note("\(job.name) \(context.attempt)")
          if job.name == "permanent" { throw JobFailure(.permanent, "no such page") }
          if !stage.harness.network.path.hasRoute { throw JobFailure(.unreachable, "no route") }
        }
      }
      stage.harness.network.set(hasRoute: false)
      // Of those that the network wakes, it is not spread over a while.
      let lost = try stage.write {
        try stage.jobs.enqueue(Errand(name: "lost"), priority: 1, in: $0)
      }
      let permanent = try stage.enqueue(Errand(name: "permanent"))
      let waits = try stage.harness.settle()
      try requireEqual(.drains, waits.map(\.reason), [.network], "what waits without a route")
      try stage.requireState(.drains, permanent, .failed, "after a permanent failure")
      let notes = Set(stage.taken())
      try requireEqual(.drains, notes, ["0 lost 1", "0 permanent 1"], "attempts without a route")
      try stage.harness.advance(by: .seconds(5))
      stage.harness.network.set(hasRoute: true)
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["5 lost 1"], "attempts as the network is back")
      try requireEqual(.drains, try stage.record(lost)?.state, .done, "the state of what was lost")
    }
  }

  func checkGate() throws {
    try stage { stage in
      stage.start(concurrency: 2) {
        $0.handle(Call.self) { job, _ in
          stage.note("try \(job.name)")
          let isEarly = stage.clock.now.offset < .seconds(30)
          if isEarly { throw JobFailure(.limited(delay: .seconds(30)), "busy") }
          try await stage.clock.sleep(for: .seconds(1))
        }
        $0.handle(Errand.self) { job, _ in stage.note(job.name) }
      }
      for name in ["1", "2", "3", "4"] { try stage.enqueue(Call(name: name)) }
      try stage.enqueue(Errand(name: "free"))
      try stage.harness.advance(by: .seconds(20))
      try requireEqual(
        .drains, try stage.database.read(stage.jobs.gates).map(\.service), ["tern-service"],
        "gates that are closed")
      let before = stage.taken()
      try requireEqual(
        .drains, before.sorted(), ["0 free", "0 try 1", "0 try 2"], "what ran beside a closed gate")
      try stage.harness.drain()
      let notes = stage.taken()
      try requireEqual(.drains, notes.first, "30 try 1", "the probe")
      try requireEqual(
        .drains, Set(notes.dropFirst()), ["31 try 2", "31 try 3", "32 try 4"],
        "what followed the probe")
      try requireEqual(
        .drains, try stage.database.read(stage.jobs.records).map(\.failures), [0, 0, 0, 0, 0],
        "failures of what a gate held up")
    }
  }

  func checkDeadLetters() throws {
    try stage { stage in
      let repaired = Flag()
      stage.start(concurrency: 1) {
        $0.handle(Errand.self) { job, context in
          try await context.step("ask") {
            stage.note("ask \(job.name)")
          } commit: { db in
            try JobStage.addEffect(job.name, in: db)
          }
          if !repaired.isSet { throw JobFailure(.permanent, "the page is torn") }
        }
      }
      let ids = try ["1", "2", "3"].map { try stage.enqueue(Errand(name: $0)) }
      try stage.harness.drain()
      let letters = try stage.database.read(stage.jobs.records)
      try requireEqual(.drains, letters.map(\.state), [.failed, .failed, .failed], "states")
      let story = try stage.database.read { try stage.jobs.failedAttempts(of: ids[0], in: $0) }
      try requireEqual(.drains, story.map(\.reason), ["the page is torn"], "a failure's story")
      repaired.set()
      try stage.write { db in
        try require(.drains, try stage.jobs.remove(ids[2], in: db), "a failed job was not removed")
        try require(.drains, try stage.jobs.retry(ids[0], in: db), "a failed job was not retried")
      }
      try stage.harness.drain()
      try stage.requireState(.drains, ids[0], .done, "after it was retried")
      try stage.requireState(.drains, ids[1], .failed, "beside one that was retried")
      try stage.requireState(.drains, ids[2], nil, "after it was removed")
      let count = try stage.write { try stage.jobs.retryAll(in: $0) }
      try requireEqual(.drains, count, 1, "jobs that are retried together")
      try stage.harness.drain()
      try stage.requireState(.drains, ids[1], .done, "after all were retried")
      try stage.requireNotes(
        .effectsHappenOnce, ["0 ask 1", "0 ask 2", "0 ask 3"], "steps of retried jobs")
      try requireEqual(.effectsHappenOnce, stage.effects(), ["1", "2", "3"], "rows of those steps")
    }
  }
}
