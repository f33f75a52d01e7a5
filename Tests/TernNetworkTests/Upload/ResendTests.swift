#if os(Linux)
import Foundation
import GRDB
import Synchronization
import Tern
import TernTesting
import Testing

@testable import TernNetwork
import TernJobs

/// What a job sends again is what it sent before, byte for byte, under a key that was stored first.
@Suite("Upload: a request that is sent again", .timeLimit(.minutes(1)))
struct ResendTests {
  struct Upload: Job {
    static let kind = "upload"
    static let retry = RetryPolicy(delays: [.zero, .zero, .zero])
    var title: String
    var url: String
  }

  /// The head as it came, without what names the connection, and the body.
  private struct Sent: Hashable {
    var line: String
    var headers: [String: String]
    var body: [UInt8]
  }

  private static func work(
    _ job: Upload, _ context: JobContext, over transport: any HTTPTransport
  ) async throws {
    let key = context.idempotencyKey("upload")
    var form = MultipartForm(boundary: "tern-" + key)
    form.add("title", job.title)
    form.add(
      "photo", file: FileSegment(try context.file("photo").path), named: "sh\"elf\r\n é.jpg",
      type: "image/jpeg")
    let request = HTTPRequest(
      .post, job.url, headers: ["Idempotency-Key": key], body: .form(form), timeout: .seconds(20))
    let answer = try await transport.send(request)
    guard answer.status == 201 else { throw try await HTTPProblem(answer, to: request) }
  }

  private static func worker(_ queue: JobQueue) -> JobWorker {
    JobWorker(queue, path: UnknownPathSource()) {
      $0.handle(Upload.self) { job, context in
        try await work(job, context, over: CurlTransport())
      }
    }
  }

  @Test(
    "after a worker's end in the middle and a refusal the same bytes are sent, under a key that was stored"
  )
  func resend() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tern-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "app.sqlite").path
    let photo = try TemporaryFile(noise(300_000))

    let sent = Mutex<[Sent]>([])
    let stored = Mutex<[Bool]>([])
    let hasArrived = Signal()
    let reader = try DatabaseQueue(path: path)
    let server = try LocalServer { connection in
      while let request = connection.readRequest() {
        let key = request.headers["idempotency-key"] ?? "none"
        let isStored = try? reader.read { db in
          let stored =
            "SELECT q.id || '-' || j.id || '-' FROM grdb_tern_jobqueue q, grdb_tern_job j"
          return try String.fetchAll(db, sql: stored).contains { key.hasPrefix($0) }
        }
        stored.withLock { $0.append(isStored == true) }
        let count = sent.withLock { sent in
          sent.append(Sent(line: request.line, headers: request.headers, body: request.body))
          return sent.count
        }
        switch count {
        case 1:
          hasArrived.fire()
          connection.waitForEnd()
          return
        case 2: connection.answer(500)
        default: connection.answer(201)
        }
      }
    }
    defer { server.stop() }

    let id: JobID
    do {
      let queue = try await JobQueue.open(try DatabaseQueue(path: path))
      let copy = try await queue.attach(copyOf: URL(filePath: photo.path), as: "photo")
      id = try await queue.database.write { db in
        try queue.enqueue(Upload(title: "Dune", url: server.url), files: [copy], in: db)
      }
      let first = Self.worker(queue)
      // It ends with the request under way.
      let draining = Task { try await first.drain() }
      await hasArrived.wait()
      draining.cancel()
      _ = await draining.result
    }
    // The original may be gone: the job has its own.
    try photo.write([])
    let queue = try await JobQueue.open(try DatabaseQueue(path: path))
    try await Self.worker(queue).drain(waiting: .seconds(10))
    let record = try await queue.database.read { try queue.record(id, in: $0) }
    #expect(record?.state == .done)
    let all = sent.withLock { $0 }
    #expect(all.count == 3)
    #expect(Set(all).count == 1)
    #expect(all.first?.body.count ?? 0 > 300_000)
    #expect(stored.withLock { $0 } == [true, true, true])
  }
}
#endif
