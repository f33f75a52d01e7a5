import GRDB
import Tern
import Testing

@Suite(.timeLimit(.minutes(1))) struct FirstJobTests {
  @Test func `a job runs`() async throws {
    let database = try DatabaseQueue()
    let jobs = try await JobQueue.open(database)
    let id = try await database.write { try jobs.enqueue(Note(text: "a"), in: $0) }
    let worker = JobWorker(jobs) {
      $0.handle(Note.self) { job, context in
        let text = try await context.step("read") { job.text + "b" }
        try await context.report(progress: 1, message: text)
      }
    }
    try await worker.drain()
    let record = try await database.read { try jobs.record(id, in: $0) }
    #expect(record?.state == .done)
    #expect(record?.message == "ab")
  }
}

struct Note: Job {
  static let kind = "note"
  var text: String
}
