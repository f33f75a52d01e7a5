#if Rehearsal
import Foundation
import GRDB
import Synchronization
import Tern
@_spi(Rehearsal) import TernCore
import TernJobs
import Testing

/// The process dies at each named place, and the next one finds everything in order (INV-04).
@Suite("Worker: a process that dies at each named place")
struct JobCrashTests {
  private struct Dead: Error {}

  /// Dies when a point is reached for the `count`th time, and stays dead.
  private final class Death: Sendable {
    private let reached = Mutex(0)
    private let isDead = Mutex(false)

    func handler(at point: CrashPoint, _ count: Int) -> CrashPoint.Handler {
      { reached in
        if reached == point {
          let now = self.reached.withLock { seen in
            seen += 1
            return seen
          }
          if now == count { self.isDead.withLock { $0 = true } }
        }
        // Whatever the dead still do must not be committed.
        if self.isDead.withLock({ $0 }) { throw Dead() }
      }
    }

    var hasHappened: Bool { isDead.withLock { $0 } }
  }

  private func worker(_ rig: Rig, _ queue: JobQueue) -> JobWorker {
    JobWorker(queue, concurrency: 1) {
      $0.handle(Tidy.self) { job, context in
        rig.note("attempt \(context.attempt)")
        for number in 1...2 {
          _ = try await context.step("step \(number)") { files in
            let photo = try Data(contentsOf: context.file(number == 1 ? "photo" : "crop"))
            if number == 1 {
              try (photo + Data("!".utf8)).write(to: files.create("crop"))
              files.release("photo")
            }
            return String(decoding: photo, as: UTF8.self)
          } commit: { db, text in
            try db.execute(
              sql: "INSERT INTO book VALUES (?)", arguments: ["\(job.name) \(number) \(text)"])
          }
        }
      }
    }
  }

  /// One life: enqueues what is missing, and works.
  private func live(_ rig: Rig) throws {
    let queue = try rig.open()
    let count = try rig.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM ordered")! }
    for number in count..<2 {
      let file = try rig.perform { try await queue.attach(Data("photo".utf8), as: "photo") }
      try rig.write { db in
        try db.execute(sql: "INSERT INTO ordered VALUES (?)", arguments: [number])
        try queue.enqueue(Tidy(name: "\(number)"), files: [file], in: db)
      }
      try CrashPoint.reach(.jobAfterEnqueueCommit)
    }
    try rig.drain(worker(rig, queue))
  }

  private func check(_ point: CrashPoint, _ count: Int) throws -> Bool {
    var hasHappened = false
    try Rig.run(seed: UInt64(count)) { rig in
      try rig.write { try $0.execute(sql: "CREATE TABLE ordered (number INTEGER NOT NULL)") }
      let death = Death()
      do {
        try CrashPoint.with(death.handler(at: point, count)) { try live(rig) }
      } catch is Dead {}
      hasHappened = death.hasHappened
      let named = try rig.database.read { db in
        try String.fetchAll(db, sql: "SELECT path FROM grdb_tern_jobfile")
      }
      try #require(Set(named).isSubset(of: rig.storedFiles()), "\(Violation.fileLost.rawValue)")
      try live(rig)
      try #require(
        try rig.titles() == ["0 1 photo", "0 2 photo!", "1 1 photo", "1 2 photo!"],
        "\(Violation.rowsNotOnce.rawValue)")
      let queue = try rig.open()
      #expect(try rig.storedFiles().isEmpty, "\(point.rawValue) \(count)")
      let records = try rig.database.read(queue.records)
      #expect(records.map(\.state) == [.done, .done])
      #expect(records.map(\.failures) == [0, 0])
      #expect(
        rig.notes().allSatisfy { $0.hasSuffix("attempt 1") }, "\(Violation.attemptLost.rawValue)")
    }
    return hasHappened
  }

  private enum Violation: String {
    case fileLost = "a file that a job has is gone"
    case rowsNotOnce = "what a step wrote is not there once"
    case attemptLost = "a death cost an attempt"
  }

  @Test(arguments: CrashPoint.ofJobs)
  func `whatever was under way happens once`(_ point: CrashPoint) throws {
    var deaths = 0
    while try check(point, deaths + 1) { deaths += 1 }
    #expect(deaths >= 2, "\(point.rawValue) is hardly reached")
  }

  /// Exactly this violation, and no other, is what a planted bug leads to.
  private func expect(_ violation: Violation, of bug: Planted, at point: CrashPoint) throws {
    try withKnownIssue {
      _ = try Planted.with(bug) { try check(point, 1) }
    } matching: { issue in
      issue.comments.contains { $0.rawValue == violation.rawValue }
    }
  }

  @Test func `rows that are committed apart from their step's result are noticed`() throws {
    try expect(.rowsNotOnce, of: .stepResultApart, at: .jobBeforeStepCommit)
  }

  @Test func `a death that costs an attempt is noticed`() throws {
    try expect(.attemptLost, of: .crashBurnsAttempt, at: .jobAfterClaim)
  }

  @Test func `a file that goes before the commit is noticed`() throws {
    try expect(.fileLost, of: .fileUnlinkedBeforeCommit, at: .jobBeforeStepCommit)
  }
}
#endif
