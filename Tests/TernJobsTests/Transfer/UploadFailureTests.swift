import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork
import TernTesting
import Testing

/// What an upload's failure costs is what a request's costs.
@Suite("Transfer: what an upload's failure costs")
struct UploadFailureTests {
  /// Answers the uploads of a job in turn, and the last of these for ever.
  private func answering(_ answers: TransferAnswer...) -> ScriptedTransfers {
    let count = Mutex(0)
    return ScriptedTransfers { _ in
      count.withLock { count in
        defer { count += 1 }
        return answers[min(count, answers.count - 1)]
      }
    }
  }

  private struct Outcome {
    let record: JobRecord
    let notes: [String]
    let begun: Int
  }

  private func run(
    _ transfers: ScriptedTransfers, until end: Double = 100,
    _ check: (Rig, JobQueue) throws -> Void = { _, _ in }
  ) throws -> Outcome {
    var outcome: Outcome?
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: end)
      #expect(transfers.ids().isEmpty)
      try check(rig, queue)
      outcome = Outcome(
        record: try rig.record(queue, id), notes: rig.notes(), begun: transfers.begun.count)
    }
    return try #require(outcome)
  }

  @Test func `a status that says so counts, and each attempt begins a new upload`() throws {
    let transfers = answering(.status(500))
    let outcome = try run(transfers)
    #expect(outcome.record.state == .failed)
    #expect(outcome.record.failures == 4)
    #expect(outcome.record.reason == "the server answered 500")
    #expect(outcome.begun == 4)
    #expect(Set(transfers.begun.map(\.id)).count == 4)
    #expect(
      outcome.notes == [
        "0 #1 start, attempt 1", "0 #1 start, attempt 1", "1 #1 start, attempt 2",
        "1 #1 start, attempt 2", "3 #1 start, attempt 3", "3 #1 start, attempt 3",
        "7 #1 start, attempt 4", "7 #1 start, attempt 4",
      ])
  }

  @Test func `a success forgets the failures before it`() throws {
    let outcome = try run(answering(.status(500), .status(503), .titles)) { (rig, _) throws in
      #expect(try rig.titles() == ["Dune"])
    }
    #expect(outcome.record.state == .done)
    #expect(outcome.record.failures == 0)
    #expect(outcome.notes.last == "3 #1 done")
  }

  @Test func `what no attempt can help fails the job at once`() throws {
    let outcome = try run(answering(.status(422)))
    #expect(outcome.record.state == .failed)
    #expect(outcome.begun == 1)
    let missing = try run(answering(.failure(.fileMissing)))
    #expect(missing.record.state == .failed)
    #expect(missing.begun == 1)
  }

  @Test func `a service that wants no requests closes its gate`() throws {
    let outcome = try run(answering(.status(429, ["Retry-After": "30"]), .titles), until: 20) {
      (rig, queue) throws in
      #expect(try rig.gates(queue).map(\.service) == ["recogniser"])
    }
    #expect(outcome.record.state == .waiting)
    #expect(outcome.record.failures == 0)
    #expect(outcome.begun == 1)
    let after = try run(answering(.status(429, ["Retry-After": "30"]), .titles), until: 40) {
      (rig, queue) throws in
      #expect(try rig.gates(queue).isEmpty)
    }
    #expect(after.record.state == .done)
    #expect(after.notes.last == "30 #1 done")
  }

  @Test func `one that reached nobody never counts, and waits longer each time`() throws {
    let outcome = try run(answering(.failure(.unreachable)), until: 300)
    #expect(outcome.record.state == .waiting)
    #expect(outcome.record.failures == 0)
    #expect((7...12).contains(outcome.begun))
  }

  @Test func `a broken connection counts where this process saw that the network stayed`() throws {
    let steady = try run(answering(.failure(.connectionLost)))
    #expect(steady.record.state == .failed)
    #expect(steady.begun == 4)
    for isAnotherLife in [true, false] {
      try Rig.run { rig in
        let queue = try rig.open()
        let transfers = ScriptedTransfers()
        let id = try rig.enqueuePhoto(queue)
        let lost = TransferAnswer.failure(.connectionLost)
        if isAnotherLife {
          try rig.live(rig.photoWorker(queue, transfers), until: 10)
          transfers.answer(transfers.held[0].id, with: lost)
          try rig.live(rig.photoWorker(queue, transfers), until: 10.5)
        } else {
          try rig.live(rig.photoWorker(queue, transfers), until: 10.5) {
            try await rig.sleep(5)
            rig.path.set(hasRoute: true)
            try await rig.sleep(5)
            transfers.answer(transfers.held[0].id, with: lost)
          }
        }
        let record = try rig.record(queue, id)
        #expect(record.failures == 0, "\(isAnotherLife)")
        #expect(record.unreached == 1)
        #expect(record.state == .waiting)
      }
    }
  }

  @Test func `one that takes too long is cancelled, and counts`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, transfers, within: .seconds(60))
      try rig.live(worker, until: 60.5)
      #expect(try rig.record(queue, id).failures == 1)
      #expect(try rig.record(queue, id).reason?.contains("took longer than 60") == true)
      #expect(transfers.held.isEmpty)
      try rig.live(worker, until: 62)
      #expect(transfers.held.count == 1)
      #expect(transfers.begun.count == 2)
      // What comes after the end is nobody's.
      transfers.answer(transfers.begun[0].id, with: .titles)
      try rig.live(worker, until: 63)
      #expect(try rig.titles().isEmpty)
      #expect(try rig.record(queue, id).state == .waiting)
    }
  }

  @Test func `an upload whose clock was set back is cancelled all the same`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, transfers, within: .seconds(60))
      // Noticed as the time comes; then the wait begins anew, and once more as the handler asks.
      try rig.live(worker, until: 185) {
        try await rig.sleep(10)
        rig.skew.withLock { $0 -= .seconds(500_000) }
      }
      #expect(try rig.record(queue, id).failures == 1)
    }
  }

  @Test func `an answer that is too large to store is refused by name`() throws {
    try Rig.run { rig in
      rig.limits.checkpointBytes = 2000
      let queue = try rig.open()
      let body = [UInt8](repeating: 32, count: 2000)
      let transfers = answering(.response(status: 200, headers: [:], body: body))
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 100)
      let record = try rig.record(queue, id)
      #expect(record.state == .failed)
      #expect(record.reason?.contains("the body is too large") == true)
      #expect(transfers.begun.count == 1)
    }
  }

  @Test func `a queue may have no limit for what it stores of an answer`() throws {
    try Rig.run { rig in
      rig.limits.checkpointBytes = .max
      let queue = try rig.open()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, answering(.titles)), until: 10)
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.titles() == ["Dune"])
    }
  }

  @Test func `a job that is retried begins anew, whatever its upload was refused`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, transfers: transfers) {
        $0.handle(SendPhoto.self) { _, context in
          async let upload = context.upload("send", .photo, file: "photo")
          if rig.seconds < 10 { throw JobFailure(.permanent, "not today") }
          rig.note("\(try await upload.status)")
        }
      }
      try rig.live(worker, until: 5)
      #expect(try rig.record(queue, id).state == .failed)
      transfers.answer(try #require(transfers.held.first).id, with: .status(500))
      try rig.live(worker, until: 12)
      try rig.write { db in _ = try queue.retry(id, in: db) }
      try rig.live(worker, until: 15)
      #expect(try rig.record(queue, id).failures == 0)
      transfers.answer(try #require(transfers.held.first).id, with: .status(204))
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["15 204"])
      #expect(transfers.begun.count == 2)
    }
  }
}
