import Foundation
import GRDB
import Tern

extension JobQueueConformance {
  func checkDeath() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in stage.note("\(job.name) \(context.attempt)") }
      }
      stage.harness.crash(Errand.self, at: .end)
      let once = try stage.enqueue(Errand(name: "once"))
      try stage.harness.settle()
      try stage.requireState(.drains, once, .done, "after one death")
      try stage.requireNotes(.drains, ["0 once 1", "0 once 1"], "attempts with a death")
      stage.harness.crash(Errand.self, at: .end, times: 5)
      let deadly = try stage.enqueue(Errand(name: "deadly"))
      try stage.harness.settle()
      try stage.requireState(.drains, deadly, .parked, "after five deaths")
      try requireEqual(.drains, try stage.record(deadly)?.failures, 0, "failures that deaths are")
      let story = try stage.database.read { try stage.jobs.failedAttempts(of: deadly, in: $0) }
      try requireEqual(.drains, story.count, 5, "deaths that the job's story tells of")
      try stage.write { _ = try stage.jobs.retry(deadly, in: $0) }
      try stage.harness.drain()
      try stage.requireState(.drains, deadly, .done, "after it was retried")
    }
  }

  func checkFiles() throws {
    try stage { stage in
      let jobs = stage.jobs
      stage.start {
        $0.handle(Errand.self) { job, context in
          let size = try await context.step("crop") { files in
            let photo = try Data(contentsOf: context.file("photo"))
            try photo.prefix(2).write(to: files.create("crop"))
            files.release("photo")
            return photo.count
          }
          stage.note("\(size) \(try Data(contentsOf: context.file("crop")).count)")
        }
      }
      let file = try stage.harness.perform {
        try await jobs.attach(Data("photo".utf8), as: "photo")
      }
      // Dies before the commit that gives the photo up, and is refused it once more.
      stage.harness.crash(Errand.self, at: .commit("crop"))
      stage.harness.fail(Errand.self, at: .commit("crop"), with: AppRefusal())
      let id = try stage.write { try jobs.enqueue(Errand(name: "scan"), files: [file], in: $0) }
      try stage.harness.drain()
      try stage.requireState(.effectsHappenOnce, id, .done, "with a file that it gave up")
      try stage.requireNotes(.effectsHappenOnce, ["1 5 2"], "sizes of a job's files")
      try requireEqual(.effectsHappenOnce, stage.files(), [], "files that no job has")
    }
  }

  func checkSweep() throws {
    let subject = try makeSubject()
    do {
      let dead = try JobStage(subject, seed: seed)
      dead.start {
        $0.handle(Errand.self) { _, context in
          // What a handler leaves beside its file is nobody's.
          let other = try context.file("photo").deletingLastPathComponent()
          try Data("left".utf8).write(to: other.appending(path: "0123456789abcdef"))
        }
      }
      let jobs = dead.jobs
      let file = try dead.harness.perform { try await jobs.attach(Data("p".utf8), as: "photo") }
      try dead.write { _ = try jobs.enqueue(Errand(name: "scan"), files: [file], in: $0) }
      let result = Result { try dead.harness.drain() }
      try dead.harness.stop()
      try result.get()
      try requireEqual(.effectsHappenOnce, dead.files().count, 1, "files before the sweep")
    }
    let next = try JobStage(subject, seed: seed)
    try requireEqual(.effectsHappenOnce, next.files(), [], "files after the sweep")
    try require(.effectsHappenOnce, next.jobs.unsweptFiles.isEmpty, "the sweep failed")
  }

  func checkNewProcess() throws {
    try stage { stage in
      guard let reopen = stage.subject.reopen else { return }
      let waiting = try stage.write { db in
        try JobStage.addEffect("enqueued", in: db)
        return try stage.jobs.enqueue(Errand(name: "later"), after: .seconds(60), in: db)
      }
      stage.start {
        $0.handle(Errand.self) { job, context in
          try await context.step("once") { stage.note("work") }
          try await stage.clock.sleep(for: .seconds(1000))
        }
      }
      let running = try stage.enqueue(Errand(name: "running"))
      try stage.harness.advance(by: .seconds(30))
      try stage.requireNotes(.effectsHappenOnce, ["0 work"], "work before the process ends")
      try stage.harness.stop()
      let subject = Subject(database: try reopen(), reopen: reopen)
      let next = try JobStage(subject, seed: seed, start: stage.harness.wallTime)
      next.start {
        $0.handle(Errand.self) { job, context in
          try await context.step("once") { next.note("work \(job.name)") }
          next.note(job.name)
        }
      }
      let result = Result { try next.harness.drain() }
      try next.harness.stop()
      try result.get()
      try next.requireNotes(
        .drains, ["0 running", "30 work later", "30 later"], "what ran in the next process")
      for id in [waiting, running] { try next.requireState(.drains, id, .done, "at the end") }
      try requireEqual(.effectsHappenOnce, next.effects(), ["enqueued"], "rows of the app")
    }
  }
}
