import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

// As the page on jobs shows it; a test of the package's compares them.

struct ReadShelf: Job {
  static let kind = "read-shelf"
  var shelf: String
}

@Test func `a scan outlives a busy service and a crash`() async throws {
  let database = try DatabaseQueue()
  try await database.write { try $0.execute(sql: "CREATE TABLE book (title TEXT NOT NULL)") }
  let harness = JobHarness()
  let jobs = try await JobQueue.open(database, environment: harness.environment)
  harness.start(jobs) {
    $0.handle(ReadShelf.self) { job, context in
      _ = try await context.step("recognise") {
        ["Dune", "Emma"]
      } commit: { db, titles in
        for title in titles {
          try db.execute(sql: "INSERT INTO book (title) VALUES (?)", arguments: [title])
        }
      }
    }
  }
  try await database.write { db in _ = try jobs.enqueue(ReadShelf(shelf: "1"), in: db) }

  harness.fail(ReadShelf.self, at: .work("recognise"), with: JobFailure(.failed, "busy"))
  harness.crash(ReadShelf.self, at: .committed("recognise"))
  try harness.drain()

  #expect(harness.planned.isEmpty)
  let count = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM book") }
  #expect(count == 2)
}
