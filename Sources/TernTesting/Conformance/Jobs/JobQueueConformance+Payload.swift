import Foundation
import Tern
import TernJobs

/// A kind over three versions of an app.
private struct First: Job {
  static let kind = "tern-version"
  var page: String
}

private struct Second: Job {
  static let kind = First.kind
  static let version = 2
  var number: Int

  static func migrate(_ payload: Data, from version: Int) throws -> Second {
    let old = try JSONDecoder().decode(First.self, from: payload)
    guard let number = Int(old.page) else { throw JobFailure(.permanent, "a page has no number") }
    return Second(number: number)
  }
}

extension JobQueueConformance {
  func checkMigration() throws {
    try stage { stage in
      let old = try stage.enqueue(First(page: "7"))
      let damaged = try stage.enqueue(First(page: "seven"))
      let unknown = try stage.enqueue(Errand(name: "unknown"))
      stage.start { $0.handle(Second.self) { job, _ in stage.note("page \(job.number)") } }
      let new = try stage.enqueue(Second(number: 8))
      try stage.harness.drain()
      try stage.requireNotes(.drains, ["0 page 7", "0 page 8"], "what ran of both versions")
      try stage.requireState(.drains, old, .done, "with an older payload")
      try stage.requireState(.drains, new, .done, "with a payload of now")
      try stage.requireState(.drains, damaged, .parked, "with a payload that cannot be migrated")
      try stage.requireState(.drains, unknown, .parked, "of a kind without a handler")
      try stage.harness.stop()
      // The user went back to the older app, and it knows the other kind.
      let newest = try stage.enqueue(Second(number: 9))
      stage.start {
        $0.handle(First.self) { job, _ in stage.note(job.page) }
        $0.handle(Errand.self) { job, _ in stage.note(job.name) }
      }
      try stage.harness.drain()
      try stage.requireState(.drains, newest, .parked, "with a payload of a newer app")
      try stage.requireState(.drains, damaged, .done, "parked, and then readable")
      try stage.requireState(.drains, unknown, .done, "parked, and then with a handler")
    }
  }
}
