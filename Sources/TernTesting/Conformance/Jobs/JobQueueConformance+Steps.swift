import GRDB
import Tern

extension JobQueueConformance {
  func checkFollowUp() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { job, context in
          if job.name == "next" { return stage.note("next") }
          try await context.step("pass on") {
          } commit: { db in
            try JobStage.addEffect(job.name, in: db)
            try stage.jobs.enqueue(Errand(name: "next"), in: db)
          }
        }
      }
      stage.harness.fail(Errand.self, at: .commit("pass on"), with: AppRefusal())
      try stage.enqueue(Errand(name: "first"))
      try stage.harness.advance(by: .milliseconds(500))
      try requireEqual(
        .effectsHappenOnce, stage.effects(), [], "rows of a step whose commit was refused")
      try stage.requireNotes(.effectsHappenOnce, [], "jobs of a step whose commit was refused")
      try stage.harness.drain()
      try requireEqual(.effectsHappenOnce, stage.effects(), ["first"], "a step's rows")
      try stage.requireNotes(.effectsHappenOnce, ["1 next"], "what a step enqueued")
    }
  }

  func checkSteps() throws {
    for point in Self.deaths {
      try stage { stage in
        stage.start {
          $0.handle(Errand.self) { _, context in
            for name in ["one", "two"] {
              let result = try await context.step(name) {
                stage.note("work \(name)")
                return "result \(name)"
              } commit: { db, result in
                try JobStage.addEffect(result, in: db)
              }
              try require(
                .effectsHappenOnce, result == "result \(name)",
                "the step “\(name)” gave \(result), after a death at \(point)")
            }
          }
        }
        stage.harness.crash(Errand.self, at: point)
        let id = try stage.enqueue(Errand(name: "steps"))
        try stage.harness.drain()
        try requireEqual(
          .effectsHappenOnce, stage.effects(), ["result one", "result two"],
          "rows of steps after a death at \(point)")
        let isRepeated = [.answer("two"), .commit("two")].contains(point)
        let expected = ["0 work one", "0 work two"] + (isRepeated ? ["0 work two"] : [])
        try stage.requireNotes(
          .effectsHappenOnce, expected, "work of steps after a death at \(point)")
        try requireEqual(.drains, stage.harness.planned, [], "deaths that did not happen")
        let record = try stage.record(id)
        try requireEqual(.drains, record?.state, .done, "the job's state after a death at \(point)")
        try requireEqual(.drains, record?.starts, 2, "starts with a death at \(point)")
      }
    }
  }

  private static let deaths: [JobPoint] = [
    .work("two"), .answer("two"), .commit("two"), .committed("two"), .end,
  ]

  func checkValues() throws {
    try stage { stage in
      stage.start {
        $0.handle(Errand.self) { _, context in
          let left = try await context.remaining("all", of: .seconds(100))
          stage.note("left \(left / .seconds(1))")
          var last = try await context.value("last", as: Int.self) ?? 0
          while last < 3 {
            last += 1
            let number = last
            try await context.save("last", number) { db in
              try JobStage.addEffect("event \(number)", in: db)
            }
            if number == 2, context.attempt == 1 { try await stage.clock.sleep(for: .seconds(30)) }
          }
        }
      }
      try stage.enqueue(Errand(name: "values"))
      try stage.harness.advance(by: .seconds(20))
      try stage.harness.crash()
      try stage.harness.drain()
      try requireEqual(
        .effectsHappenOnce, stage.effects(), ["event 1", "event 2", "event 3"],
        "rows beside a saved value, over a death")
      try stage.requireNotes(
        .drains, ["0 left 100.0", "20 left 80.0"], "what is left of a deadline over a death")
    }
  }
}
