import Foundation
import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// An upload goes on without its attempt; its job's row is the truth, and what the system says a hint.
@Suite("Transfer: uploads that go on without their attempt")
struct UploadTests {
  @Test func `a job waits for its upload without a slot, and goes on when the answer is there`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      _ = try rig.enqueue(queue, Tidy(name: "other"))
      try rig.live(rig.photoWorker(queue, transfers, concurrency: 1), until: 50)
      #expect(rig.notes() == ["0 #1 start, attempt 1", "0 tidy other"])
      var record = try rig.record(queue, id)
      #expect(record.state == .waiting)
      #expect(record.failures == 0)
      #expect(record.reason == "what it handed over goes on: “send”")
      let upload = try #require(transfers.held.first)
      #expect(String(decoding: upload.content, as: UTF8.self) == "photo")
      #expect(upload.request.headers["Authorization"] == "Bearer now")
      let key = try #require(upload.request.headers["Idempotency-Key"])
      #expect(key.hasSuffix("-send"))
      let worker = rig.photoWorker(queue, transfers)
      transfers.answer(upload.id, with: .titles)
      try rig.live(worker, until: 60)
      #expect(rig.notes() == ["50 #1 start, attempt 1", "50 #1 done"])
      #expect(try rig.titles() == ["Dune"])
      record = try rig.record(queue, id)
      #expect(record.state == .done)
      #expect(record.starts == 2)
      #expect(transfers.begun.count == 1)
      #expect(transfers.ids().isEmpty)
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  @Test func `an answer that comes while the attempt still runs is not waited for`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let service = PhotoService()
      let transfers = ScriptedTransfers { service.serve($0) }
      try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, transfers: transfers) {
        $0.handle(SendPhoto.self) { _, context in
          do {
            let response = try await context.upload("send", .photo, file: "photo")
            rig.note("answered \(response.status)")
          } catch is CancellationError {
            try await rig.sleep(5)
            rig.note("let go")
          }
        }
      }
      try rig.live(worker, until: 20)
      #expect(rig.notes() == ["5 let go", "5 answered 200"])
    }
  }

  @Test func `what the system has lost is begun again, with the same bytes and the same key`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10)
      transfers.lose(try #require(transfers.held.first).id)
      try rig.live(rig.photoWorker(queue, transfers), until: 20)
      let begun = transfers.begun
      #expect(begun.count == 2)
      #expect(Set(begun.map(\.id)).count == 1)
      #expect(Set(begun.map(\.content)).count == 1)
      #expect(Set(begun.map { $0.request.headers["Idempotency-Key"] }).count == 1)
      // What the system still has is left alone.
      try rig.live(rig.photoWorker(queue, transfers), until: 30)
      #expect(transfers.begun.count == 2)
      #expect(rig.notes() == ["0 #1 start, attempt 1", "10 #1 start, attempt 1"])
    }
  }

  @Test func `an answer counts once, however often it is told, and not for another upload`() throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10)
      let first = try #require(transfers.held.first).id
      transfers.answer(first, with: .status(500))
      transfers.answer(first, with: .status(500))
      // The attempt that fails of it, and one second later the next.
      try rig.live(rig.photoWorker(queue, transfers), until: 20)
      let second = try #require(transfers.held.first).id
      #expect(first != second)
      #expect(try rig.record(queue, id).failures == 1)
      try rig.live(rig.photoWorker(queue, transfers), until: 30) {
        try await rig.sleep(5)
        transfers.answer(first, with: .status(400))
      }
      #expect(try rig.record(queue, id).failures == 1)
      #expect(transfers.held.map(\.id) == [second])
      transfers.answer(second, with: .titles)
      transfers.answer(second, with: .titles)
      try rig.live(rig.photoWorker(queue, transfers), until: 40)
      #expect(try rig.titles() == ["Dune"])
      #expect(transfers.ids().isEmpty)
      #expect(Set(transfers.begun.map { $0.request.headers["Idempotency-Key"] }).count == 1)
    }
  }

  @Test func `an upload that no row wants is cancelled, and its answer nobody's`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      transfers.add("strange", .photo)
      transfers.add("0:1:0:1:send", .photo)
      transfers.answer("0:1:0:1:send", with: .titles)
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10)
      let held = try #require(transfers.held.first)
      #expect(transfers.held.count == 1)
      try rig.write { db in _ = try queue.cancel(id, in: db) }
      transfers.answer(held.id, with: .titles)
      try rig.live(rig.photoWorker(queue, transfers), until: 20)
      #expect(transfers.ids().isEmpty)
      #expect(try rig.titles().isEmpty)
      #expect(try rig.record(queue, id).state == .cancelled)
    }
  }

  enum Withdrawal: CaseIterable { case cancel, remove, replace, elsewhere }

  private func erase(_ database: DatabaseQueue) throws {
    try database.write { db in
      try db.execute(sql: "DELETE FROM grdb_tern_jobcheckpoint; DELETE FROM grdb_tern_job")
    }
  }

  @Test(arguments: Withdrawal.allCases)
  func `while a worker runs, who withdraws a job ends its upload`(_ way: Withdrawal) throws {
    try Rig.run { rig in
      rig.pollInterval = .seconds(2)
      let queue = try rig.open()
      let other = try DatabaseQueue(path: rig.database.path)
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue, unique: .replace("one"))
      let worker = rig.photoWorker(queue, transfers)
      try rig.live(worker, until: 1)
      let first = try #require(transfers.held.first).id
      let file = try rig.perform { try await queue.attach(Data("new".utf8), as: "photo") }
      try rig.live(worker, until: 10) {
        try await rig.sleep(2)
        try rig.write { db in
          switch way {
          case .cancel: _ = try queue.cancel(id, in: db)
          case .remove: _ = try queue.remove(id, in: db)
          case .replace:
            _ = try queue.enqueue(
              SendPhoto(shelf: "new"), unique: .replace("one"), files: [file], in: db)
          case .elsewhere: break
          }
        }
        if way == .elsewhere { try erase(other) }
        try await rig.sleep(4)
        rig.note("\(transfers.held.count { $0.id == first })")
      }
      #expect(rig.notes().last == "7 0")
      #expect(transfers.held.count == (way == .replace ? 1 : 0))
      if way == .replace {
        #expect(String(decoding: transfers.begun[1].content, as: UTF8.self) == "new")
        let keys = transfers.begun.map { $0.request.headers["Idempotency-Key"] }
        #expect(Set(keys).count == 2)
      }
    }
  }

  @Test func `two uploads of a job go on at the same time`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      try rig.enqueuePhoto(queue)
      let body: @Sendable (SendPhoto, JobContext) async throws -> Void = { _, context in
        async let small = context.upload("small", .photo, file: "photo")
        async let large = context.upload("large", .photo, file: "photo")
        let (first, second) = try await (small, large)
        rig.note("\(first.status) \(second.status)")
      }
      func worker() -> JobWorker {
        JobWorker(queue, transfers: transfers) { $0.handle(SendPhoto.self, body) }
      }
      try rig.live(worker(), until: 10)
      #expect(transfers.begun.count == 2)
      let large = try #require(transfers.held.first { $0.id.hasSuffix("large") })
      let small = try #require(transfers.held.first { $0.id.hasSuffix("small") })
      transfers.answer(large.id, with: .status(202))
      try rig.live(worker(), until: 20)
      #expect(rig.notes().isEmpty)
      transfers.answer(small.id, with: .status(201))
      try rig.live(worker(), until: 30)
      #expect(rig.notes() == ["20 201 202"])
      #expect(transfers.begun.count == 2)
    }
  }

  @Test func `an answer is kept while its kind is paused, and beside steps of any name`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10)
      try rig.write { try queue.pause(SendPhoto.kind, in: $0) }
      transfers.answer(try #require(transfers.held.first).id, with: .titles)
      try rig.live(rig.photoWorker(queue, transfers), until: 20)
      #expect(transfers.ids().isEmpty)
      #expect(try rig.record(queue, id).state == .waiting)
      try rig.write { try queue.resume(SendPhoto.kind, in: $0) }
      try rig.drain(rig.photoWorker(queue, transfers))
      #expect(try rig.titles() == ["Dune"])
    }
  }

  @Test func `an answer that the app's observer refuses is stored when it does no more`() throws {
    final class Refusal: TransactionObserver, @unchecked Sendable {
      // Touched by the rig's one thread alone.
      var count = 3
      func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
      func databaseDidChange(with event: DatabaseEvent) {}
      func databaseWillCommit() throws {
        if count > 0 {
          count -= 1
          throw JobFailure(.failed, "not now")
        }
      }
      func databaseDidCommit(_ db: Database) {}
      func databaseDidRollback(_ db: Database) {}
    }
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let (worker, refusal) = (rig.photoWorker(queue, transfers), Refusal())
      try rig.live(worker, until: 10)
      try rig.live(worker, until: 30) {
        try await rig.sleep(1)
        rig.database.add(transactionObserver: refusal)
        transfers.answer(transfers.held[0].id, with: .titles)
      }
      #expect(refusal.count == 0)
      #expect(try rig.titles() == ["Dune"])
      #expect(try rig.record(queue, id).failures == 0)
    }
  }

  @Test func `observers are told that an attempt let go, and that the answer is stored`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 20) {
        try await rig.sleep(5)
        transfers.answer(transfers.held[0].id, with: .titles)
      }
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)",
          "0 #1 start, attempt 1", "0 #1 entrusted (1, start 1)", "5 #1 stepped send",
          "5 #1 started after 0.0 (1, start 2)", "5 #1 start, attempt 1",
          "5 #1 stepped note (1, start 2)", "5 #1 done", "5 #1 done in 0.0 at 5.0 (1, start 2)",
        ])
    }
  }

  @Test func `a worker without transfers says so`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueuePhoto(queue)
      try rig.drain(rig.photoWorker(queue, nil))
      let record = try rig.record(queue, id)
      #expect(record.state == .failed)
      #expect(record.reason?.contains("its worker has none") == true)
    }
  }
}
