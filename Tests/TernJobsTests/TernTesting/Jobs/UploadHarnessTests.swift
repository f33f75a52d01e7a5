import Foundation
import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// What an app tests its own uploads with.
@Suite("Jobs: uploads in a harness")
struct UploadHarnessTests {
  @Test(arguments: [JobPoint.start, .work("send"), .commit("note"), .committed("note"), .end])
  func `an app's upload outlives a crash`(_ point: JobPoint) async throws {
    let database = try DatabaseQueue()
    try await database.write { try $0.execute(sql: "CREATE TABLE book (title TEXT NOT NULL)") }
    let harness = JobHarness()
    let jobs = try await JobQueue.open(database, environment: harness.environment)
    let service = PhotoService()
    let transfers = ScriptedTransfers { service.serve($0) }
    harness.start(jobs, transfers: transfers) {
      $0.handle(SendPhoto.self) { job, context in
        let response = try await context.upload("send", .photo, file: "photo")
        let titles = try await response.json([String].self)
        try await context.step("note") {
        } commit: { db in
          for title in titles {
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
          }
        }
      }
    }
    let photo = try harness.perform { try await jobs.attach(Data("shelf".utf8), as: "photo") }
    try await database.write { db in
      _ = try jobs.enqueue(SendPhoto(shelf: "1"), files: [photo], in: db)
    }
    harness.crash(SendPhoto.self, at: point)
    try harness.drain()
    // Attempts have begun, and as many more as anybody can count may.
    try harness.drain(attempts: .max)
    #expect(harness.planned.isEmpty)
    #expect(service.effects == ["shelf"])
    let titles = try await database.read { try String.fetchAll($0, sql: "SELECT title FROM book") }
    #expect(titles == ["title of shelf"])
    #expect(transfers.held.isEmpty)
  }

  @Test func `a job that waits for its upload is named`() async throws {
    let database = try DatabaseQueue()
    let harness = JobHarness()
    let jobs = try await JobQueue.open(database, environment: harness.environment)
    let transfers = ScriptedTransfers()
    harness.start(jobs, transfers: transfers) {
      $0.handle(SendPhoto.self) { _, context in
        _ = try await context.upload("send", .photo, file: "photo")
      }
    }
    let photo = try harness.perform { try await jobs.attach(Data("shelf".utf8), as: "photo") }
    try await database.write { db in
      _ = try jobs.enqueue(SendPhoto(shelf: "1"), files: [photo], in: db)
    }
    let error = #expect(throws: JobHarnessError.self) { try harness.drain(within: .seconds(3600)) }
    #expect(error?.code == .tooLong)
    #expect(error?.description.contains("waits for an upload that it handed over") == true)
    try harness.crash()
    transfers.answer(try #require(transfers.held.first).id, with: .status(204))
    try harness.drain(within: .seconds(60))
    #expect(transfers.begun.count == 1)
  }
}
