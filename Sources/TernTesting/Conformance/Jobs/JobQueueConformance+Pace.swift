import GRDB
import Tern
import TernJobs

/// One at a time of each lane, and so many in a minute of all.
private struct Fetch: Job {
  static let kind = "tern-fetch"
  static let lanePace = JobPace(concurrency: 1)
  var page: String
}

private struct Stuck: Job {
  static let kind = "tern-stuck"
  static let attemptLimit: Duration? = .seconds(60)
}

private struct Metered: Job {
  static let kind = "tern-metered"
  static let pace = JobPace(rate: JobRate(1, per: .seconds(10), burst: 2))
  var page: String
}

extension JobQueueConformance {
  func checkLanes() throws {
    try stage { stage in
      stage.start(concurrency: 4) {
        $0.handle(Fetch.self) { job, _ in
          stage.note(job.page)
          try await stage.clock.sleep(for: .seconds(5))
        }
      }
      try stage.write { db in
        for (page, lane) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
          try stage.jobs.enqueue(Fetch(page: page), lane: lane, in: db)
        }
      }
      try stage.harness.drain()
      let notes = stage.taken()
      try requireEqual(
        .drains, notes.sorted(), ["0 a1", "0 b1", "10 a3", "5 a2"], "starts in lanes of one")
    }
  }

  func checkRate() throws {
    try stage { stage in
      stage.start(concurrency: 4) { $0.handle(Metered.self) { job, _ in stage.note(job.page) } }
      for page in ["1", "2", "3", "4"] { try stage.enqueue(Metered(page: page)) }
      try stage.harness.drain()
      let seconds = stage.taken().compactMap { $0.split(separator: " ").first.map(String.init) }
      try requireEqual(
        .drains, seconds, ["0", "0", "10", "20"], "starts of two at once and one in ten seconds")
    }
  }

  func checkBudget() throws {
    try stage(hasBudget: true) { stage in
      stage.start(concurrency: 4) {
        $0.handle(Call.self) { job, _ in
          stage.note(job.name)
          throw JobFailure(.failed, "the service is down")
        }
        $0.handle(Errand.self) { job, _ in stage.note(job.name) }
      }
      for number in 1...50 { try stage.enqueue(Call(name: "call \(number)")) }
      try stage.enqueue(Errand(name: "errand"))
      try stage.harness.advance(by: .seconds(100))
      let notes = stage.taken()
      let calls = notes.filter { $0.contains("call") }.count
      // Thirty at once, and one in ten seconds.
      try requireEqual(.drains, calls, 40, "attempts at a service that is down, in 100 s")
      try require(.drains, notes.contains("0 errand"), "an outage held up another service's job")
      for _ in 1...9 {
        stage.harness.network.set(hasRoute: true)
        try stage.harness.advance(by: .seconds(1))
      }
      // As many again, whatever the network does within a minute.
      try requireEqual(
        .drains, stage.taken().count, 30, "attempts over a network that comes and goes")
    }
  }

  func checkRequirement() throws {
    try stage { stage in
      stage.start { $0.handle(Errand.self) { job, _ in stage.note(job.name) } }
      stage.harness.network.set(hasRoute: true, isExpensive: true)
      let id = try stage.write { db in
        try stage.jobs.enqueue(Errand(name: "free"), in: db)
        return try stage.jobs.enqueue(Errand(name: "large"), requires: .unmetered, in: db)
      }
      let waits = try stage.harness.settle()
      try stage.requireNotes(.drains, ["0 free"], "what ran on an expensive network")
      try requireEqual(
        .drains, waits.map(\.reason), [.requirement(.unmetered)], "what waits on such a network")
      try requireEqual(
        .drains, try stage.record(id)?.isRequirementMet, false, "whether its requirement is met")
      stage.harness.network.set(hasRoute: true)
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["0 large"], "what ran on another network")
    }
  }

  func checkLostRequirement() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in
          stage.note("start \(context.start), attempt \(context.attempt)")
          try await stage.clock.sleep(for: .seconds(20))
        }
      }
      let id = try stage.write {
        try stage.jobs.enqueue(Errand(name: "large"), requires: .unmetered, in: $0)
      }
      try stage.harness.advance(by: .seconds(5))
      stage.harness.network.set(hasRoute: true, isExpensive: true)
      try stage.harness.advance(by: .seconds(2))
      try stage.requireState(.drains, id, .waiting, "on an expensive network")
      stage.harness.network.set(hasRoute: true)
      try stage.harness.drain()
      try stage.requireNotes(
        .drains, ["0 start 1, attempt 1", "7 start 2, attempt 1"], "attempts over both networks")
    }
  }

  func checkAttemptLimit() throws {
    try stage { stage in
      let standstill = Standstill()
      // The harness could not end it.
      defer { standstill.end() }
      let late = Flag()
      stage.start {
        $0.handle(Stuck.self) { _, context in
          stage.note("start \(context.start)")
          guard context.start == 1 else { return }
          await stage.clock.whileTimePasses { await standstill.wait() }
          do {
            try await context.step("late") {
            } commit: { db in
              try JobStage.addEffect("late", in: db)
            }
          } catch let error as JobQueueError where error.code == .notRunning {
            late.set()
          }
        }
        $0.handle(Errand.self) { job, _ in stage.note(job.name) }
      }
      try stage.enqueue(Stuck())
      try stage.enqueue(Errand(name: "errand"))
      try stage.harness.advance(by: .seconds(100))
      try stage.requireNotes(
        .drains, ["0 start 1", "70 errand", "71 start 2"], "starts beside a handler that hangs")
      standstill.end()
      try stage.harness.advance(by: .seconds(1))
      try require(.effectsHappenOnce, late.isSet, "a fenced handler stored a step")
      try requireEqual(.effectsHappenOnce, stage.effects(), [], "what a fenced handler wrote")
    }
  }
}
