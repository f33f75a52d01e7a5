import GRDB
import Tern
import TernJobs

extension JobQueueConformance {
  func checkEnqueue() throws {
    try stage { stage in
      stage.start { $0.handle(Errand.self) { job, _ in stage.note(job.name) } }
      do {
        try stage.write { db in
          try JobStage.addEffect("lost", in: db)
          try stage.jobs.enqueue(Errand(name: "lost"), in: db)
          throw AppRefusal()
        }
      } catch is AppRefusal {}
      let id = try stage.write { db in
        try db.inSavepoint {
          try stage.jobs.enqueue(Errand(name: "taken back"), in: db)
          return .rollback
        }
        try JobStage.addEffect("kept", in: db)
        return try stage.jobs.enqueue(Errand(name: "kept"), in: db)
      }
      try stage.harness.drain()
      try stage.requireNotes(
        .effectsHappenOnce, ["0 kept"], "what ran of jobs whose transactions were undone or not")
      try requireEqual(.effectsHappenOnce, stage.effects(), ["kept"], "rows beside those jobs")
      try stage.requireState(.drains, id, .done, "after it ran")
    }
  }

  func checkOrder() throws {
    try stage { stage in
      stage.start { handlers in
        handlers.handle(Errand.self) { job, _ in stage.note(job.name) }
        handlers.handle(Call.self) { job, _ in stage.note(job.name) }
      }
      // Of two kinds, which wait in lines of their own.
      try stage.write { db in
        try stage.jobs.enqueue(Errand(name: "a"), in: db)
        try stage.jobs.enqueue(Call(name: "b"), priority: 10, in: db)
        try stage.jobs.enqueue(Call(name: "c"), in: db)
        try stage.jobs.enqueue(Errand(name: "d"), priority: 10, in: db)
        try stage.jobs.enqueue(Errand(name: "e"), priority: -1, in: db)
      }
      try stage.harness.drain()
      try stage.requireNotes(
        .drains, ["0 b", "0 d", "0 a", "0 c", "0 e"], "the order of priorities and readiness")
    }
  }

  func checkDelay() throws {
    try stage { stage in
      stage.start { $0.handle(Errand.self) { job, _ in stage.note(job.name) } }
      try stage.write { db in
        try stage.jobs.enqueue(Errand(name: "later"), after: .seconds(3600), in: db)
        try stage.jobs.enqueue(Errand(name: "now"), in: db)
      }
      try stage.harness.advance(by: .seconds(3599))
      try stage.requireNotes(.drains, ["0 now"], "what ran before its time")
      // Nobody waits longer than was meant because the clock is set back.
      stage.harness.setWallClock(ahead: .seconds(-86_400))
      try stage.harness.drain()
      let notes = stage.taken()
      try requireEqual(.drains, notes.count, 1, "starts of the delayed job")
      let second = notes[0].split(separator: " ").first.flatMap { Double($0) } ?? .infinity
      try require(
        .drains, (3600...7199).contains(second),
        "a job that was delayed by 3600 s ran at \(second) s, with the wall clock set back at 3599 s"
      )
    }
  }

  func checkUnique() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, _ in
          stage.note(job.name)
          try await stage.clock.sleep(for: .seconds(10))
        }
      }
      func enqueue(_ name: String) throws -> JobID {
        try stage.write {
          try stage.jobs.enqueue(Errand(name: name), unique: .skip("key"), in: $0)
        }
      }
      let first = try enqueue("first")
      try requireEqual(
        .drains, try enqueue("second"), first, "what stands for a job beside one that waits")
      try stage.harness.advance(by: .seconds(5))
      try requireEqual(
        .drains, try enqueue("third"), first, "what stands for a job beside one that runs")
      try stage.harness.drain()
      let next = try enqueue("fourth")
      try require(.drains, next != first, "a job is skipped for one that is done")
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["0 first", "10 fourth"], "what ran of jobs of one key")
    }
  }

  func checkReplace() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in
          let name = try await context.step("name") { job.name }
          stage.note(name)
          if job.name == "old" { throw JobFailure(.failed, "not yet") }
        }
      }
      func enqueue(_ name: String) throws -> JobID {
        try stage.write {
          try stage.jobs.enqueue(Errand(name: name), unique: .replace("key"), in: $0)
        }
      }
      let old = try enqueue("old")
      try stage.harness.advance(by: .milliseconds(500))
      try requireEqual(.drains, try enqueue("new"), old, "the id of a job that is replaced")
      try stage.harness.drain()
      try stage.requireNotes(
        .effectsHappenOnce, ["0 old", "0.5 new"], "what the steps of a replaced job gave")
    }
  }
}
