import Foundation
import GRDB
import Tern
import TernJobs

extension JobQueueConformance {
  func checkLimits() throws {
    var limits = JobLimits()
    (limits.payloadBytes, limits.keyBytes, limits.jobs) = (100, 10, 2)
    (limits.checkpointsPerJob, limits.checkpointBytes) = (2, 100)
    (limits.fileBytes, limits.filesPerJob) = (10, 1)
    let long = String(repeating: "x", count: 200)
    try stage(limits: limits) { stage in
      let jobs = stage.jobs
      let files = try ["a", "b"].map { name in
        try stage.harness.perform { try await jobs.attach(Data("page".utf8), as: name) }
      }
      try requireRefusal(.fileTooLarge, "a file of 11 bytes with a limit of 10") {
        _ = try stage.harness.perform { try await jobs.attach(Data(count: 11), as: "large") }
      }
      try stage.write { db in
        try requireRefusal(.payloadTooLarge, "a payload over its limit") {
          try jobs.enqueue(Errand(name: long), in: db)
        }
        try requireRefusal(.keyTooLong, "a key over its limit") {
          try jobs.enqueue(Errand(name: "key"), unique: .skip(long), in: db)
        }
        // SQLite's functions read it as far as to the U+0000.
        let cut = "a\0b"
        for (what, new) in [
          ("a key", { try jobs.enqueue(Errand(name: "cut"), unique: .skip(cut), in: db) }),
          ("a lane", { try jobs.enqueue(Errand(name: "cut"), lane: cut, in: db) }),
          ("a service", { try jobs.enqueue(Errand(name: "cut"), service: cut, in: db) }),
        ] {
          try requireRefusal(.invalidName, "\(what) that holds U+0000") { _ = try new() }
        }
        try requireRefusal(.invalidName, "a kind that holds U+0000") {
          try jobs.pause(cut, in: db)
        }
        try requireRefusal(.tooManyFiles, "a second file where a job has one") {
          try jobs.enqueue(Errand(name: "files"), files: files, in: db)
        }
        try jobs.enqueue(Errand(name: "checkpoints"), in: db)
        try jobs.enqueue(Errand(name: "result"), in: db)
        try requireRefusal(.tooManyJobs, "a third job with a limit of two") {
          try jobs.enqueue(Errand(name: "many"), in: db)
        }
        // What was refused leaves the transaction as it was.
        try JobStage.addEffect("kept", in: db)
      }
      try requireEqual(.limitsHold, stage.effects(), ["kept"], "rows beside what was refused")
      try requireEqual(
        .limitsHold, try stage.database.read(jobs.records).count, 2, "jobs beside those refused")
      try checkCheckpointLimits(stage, result: long)
    }
  }

  private func checkCheckpointLimits(_ stage: JobStage, result: String) throws {
    stage.start {
      $0.handle(Errand.self) { job, context in
        do {
          if job.name == "result" {
            do {
              try await context.step("a\0b") { stage.note("work whose end has no name") }
            } catch let error as JobQueueError where error.code == .invalidName {
              stage.note("result name")
            }
            _ = try await context.step("large") { result }
          } else {
            for number in 1...3 { try await context.step("step \(number)") {} }
          }
        } catch let error as JobQueueError {
          let isBytes = error.code == .checkpointTooLarge
          let isCount = error.code == .tooManyCheckpoints
          stage.note("\(job.name) \(isBytes ? "bytes" : isCount ? "count" : "\(error)")")
        }
      }
    }
    try stage.harness.drain()
    try stage.requireNotes(
      .limitsHold, ["0 checkpoints count", "0 result name", "0 result bytes"],
      "refusals of checkpoints")
  }

  func checkRetention() throws {
    var limits = JobLimits()
    (limits.keptDone, limits.keptFor) = (3, .seconds(100))
    try stage(limits: limits) { stage in
      stage.start { $0.handle(Errand.self) { job, _ in } }
      let ids = try (1...5).map { try stage.enqueue(Errand(name: "\($0)")) }
      try stage.harness.drain()
      var kept = try stage.database.read(stage.jobs.records).map(\.id)
      try requireEqual(.limitsHold, kept, Array(ids.suffix(3)), "jobs that are kept, of five")
      try stage.harness.advance(by: .seconds(101))
      let last = try stage.enqueue(Errand(name: "last"))
      try stage.harness.drain()
      kept = try stage.database.read(stage.jobs.records).map(\.id)
      try requireEqual(.limitsHold, kept, [last], "jobs that are kept after 101 s, of 100")
    }
  }
}
