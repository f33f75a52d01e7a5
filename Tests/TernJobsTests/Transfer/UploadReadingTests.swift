import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// An answer that came, and that the handler can do nothing with; and what is kept of answers.
@Suite("Transfer: answers that cannot be read, and what is kept of answers")
struct UploadReadingTests {
  private func reader(_ rig: Rig, _ queue: JobQueue, _ transfers: ScriptedTransfers) -> JobWorker {
    JobWorker(queue, path: rig.path, transfers: transfers) {
      $0.handle(SendPhoto.self) { _, context in
        let count = try await context.upload("send", .photo, file: "photo") { response in
          let count = try await response.collect(limit: 100).count
          if count == 0 { throw JobFailure(.failed, "it is empty") }
          return count
        }
        rig.note("\(count) bytes")
      }
    }
  }

  @Test func `an answer that cannot be read is dropped, and the next attempt sends again`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let count = Mutex(0)
      let transfers = ScriptedTransfers { _ in
        let count = count.withLock { count in
          count += 1
          return count
        }
        return count < 3 ? .status(200) : .titles
      }
      let id = try rig.enqueuePhoto(queue)
      try rig.live(reader(rig, queue, transfers), until: 100)
      #expect(rig.notes() == ["3 8 bytes"])
      #expect(try rig.record(queue, id).state == .done)
      #expect(transfers.begun.count == 3)
      #expect(Set(transfers.begun.map { $0.request.headers["Idempotency-Key"] }).count == 1)
      #expect(transfers.ids().isEmpty)
    }
  }

  @Test
  func `one that can never be read fails its job as every failure does, and retries send again`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let isMended = Mutex(false)
      let transfers = ScriptedTransfers { _ in isMended.withLock { $0 } ? .titles : .status(200) }
      let id = try rig.enqueuePhoto(queue)
      let worker = reader(rig, queue, transfers)
      try rig.live(worker, until: 100)
      #expect(try rig.record(queue, id).state == .failed)
      #expect(try rig.record(queue, id).failures == 4)
      #expect(transfers.begun.count == 4)
      isMended.withLock { $0 = true }
      try rig.write { db in _ = try queue.retry(id, in: db) }
      try rig.live(worker, until: 110)
      #expect(rig.notes() == ["100 8 bytes"])
    }
  }

  @Test func `what a service repeats of a token is in no error, and a cookie in no row`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let problem = "{\"title\":\"no\",\"detail\":\"earlier-token is over\",\"code\":\"expired\"}"
      let transfers = ScriptedTransfers { _ in
        .response(
          status: 422, headers: ["Content-Type": "application/problem+json"],
          body: Array(problem.utf8))
      }
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 5)
      #expect(try rig.record(queue, id).reason == "the server answered 422 expired")
      let other = ScriptedTransfers { _ in
        .response(status: 200, headers: ["set-cookie": "door=open", "X-One": "1"], body: [])
      }
      try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, transfers: other) {
        $0.handle(SendPhoto.self) { _, context in
          let response = try await context.upload("send", .photo, file: "photo")
          rig.note("\(response.headers["X-One"] ?? "") \(response.headers["Set-Cookie"] ?? "none")")
        }
      }
      _ = rig.notes()
      try rig.live(worker, until: 10)
      #expect(rig.notes() == ["5 1 none"])
    }
  }

  @Test func `an error's answer that is too long to store keeps its status and its fields`() throws
  {
    try Rig.run { rig in
      rig.limits.checkpointBytes = 2000
      let queue = try rig.open()
      let transfers = ScriptedTransfers { _ in
        .response(
          status: 503, headers: ["Retry-After": "30"], body: [UInt8](repeating: 32, count: 2000))
      }
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 20)
      #expect(try rig.record(queue, id).state == .waiting)
      #expect(try rig.gates(queue).map(\.service) == ["recogniser"])
    }
  }
}
