import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernNetwork
import TernTesting
import Testing

/// What a job waits for besides its upload, and who else wants something of either.
@Suite("Transfer: waiting for an upload and for something else")
struct UploadWaitTests {
  enum Hint: CaseIterable { case answered, lost }

  @Test(arguments: Hint.allCases)
  func `an upload ends no wait that is not its own`(_ hint: Hint) throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let file = try rig.perform { try await queue.attach(Data("photo".utf8), as: "photo") }
      _ = try rig.enqueue(queue, Unserved(), files: [file])
      let worker = JobWorker(queue, path: rig.path, transfers: transfers) {
        $0.handle(Unserved.self) { _, context in
          rig.note("start")
          async let upload = context.upload("send", .photo, file: "photo")
          // Behind the handing over.
          try await rig.sleep(0.5)
          if rig.seconds < 30 { throw JobFailure(.limited(delay: .seconds(60)), "not now") }
          rig.note("\(try await upload.status)")
        }
      }
      try rig.live(worker, until: 10)
      let held = try #require(transfers.held.first)
      switch hint {
      case .answered: transfers.answer(held.id, with: .status(204))
      case .lost: transfers.lose(held.id)
      }
      try rig.live(worker, until: 50)
      #expect(rig.notes() == ["0 start"])
      try rig.live(worker, until: 100)
      #expect(rig.notes().first == "60.5 start")
    }
  }

  @Test func `an answer that the app never lets in is its own job's matter`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let service = PhotoService()
      let inner = ScriptedTransfers { service.serve($0) }
      try rig.write {
        try $0.execute(
          sql: """
            CREATE TRIGGER app_refuses BEFORE INSERT ON grdb_tern_jobcheckpoint
            WHEN NEW.kind = 0 AND NEW.job = 1 BEGIN SELECT RAISE(ABORT, 'never'); END
            """)
      }
      let ids = try ["one", "two", "three"].map { try rig.enqueuePhoto(queue, $0) }
      let worker = rig.photoWorker(queue, InProcess(inner: inner))
      let error = #expect(throws: DatabaseError.self) { try rig.drain(worker) }
      #expect(error?.message == "never")
      #expect(
        try ids.map { try rig.record(queue, $0).state } == [.waiting, .done, .done])
      #expect(inner.ids().count == 1)
    }
  }

  @Test func `a refusal that nobody was given outlives another one's failure`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers { upload in
        upload.id.hasSuffix("first") ? .status(500) : .status(503)
      }
      try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, path: rig.path, transfers: transfers) {
        $0.handle(SendPhoto.self) { _, context in
          // The first attempt begins both, the second asks for the first alone.
          rig.note("attempt \(context.attempt)")
          if transfers.begun.count < 2 {
            async let first = context.upload("first", .photo, file: "photo")
            async let second = context.upload("second", .photo, file: "photo")
            _ = try await (first, second)
          } else if transfers.begun.count == 2, context.attempt == 1 {
            _ = try await context.upload("first", .photo, file: "photo")
          } else {
            _ = try await context.upload("second", .photo, file: "photo")
          }
        }
      }
      try rig.live(worker, until: 2)
      #expect(transfers.begun.map { $0.id.hasSuffix("second") }.filter { $0 }.count == 1)
      #expect(rig.notes() == ["0 attempt 1", "0 attempt 1", "1 attempt 2"])
    }
  }

  @Test func `a job that ends through another queue of its database withdraws its upload`() throws {
    try Rig.run { rig in
      let (queue, other) = (try rig.open(), try rig.open())
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10) {
        try await rig.sleep(2)
        rig.note("\(transfers.held.count)")
        try rig.write { db in _ = try other.cancel(id, in: db) }
        try await rig.sleep(2)
        rig.note("\(transfers.held.count)")
      }
      #expect(rig.notes().suffix(2) == ["2 1", "4 0"])
    }
  }

  @Test func `a job that is done without its upload withdraws it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = JobWorker(queue, path: rig.path, transfers: transfers) {
        $0.handle(SendPhoto.self) { _, context in
          if context.attempt == 2 { return }
          async let _ = context.upload("send", .photo, file: "photo")
          // Behind the handing over.
          try await rig.sleep(0.5)
          throw JobFailure(.failed, "after all")
        }
      }
      try rig.live(worker, until: 5) {
        try await rig.sleep(4)
        rig.note("\(transfers.begun.count) \(transfers.held.count)")
      }
      #expect(rig.notes() == ["4 1 0"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a scripted upload that is under way needs no file`() throws {
    let transfers = ScriptedTransfers()
    transfers.add("one", .photo)
    try transfers.begin("one", .photo, file: URL(filePath: "/nowhere"))
    #expect(transfers.begun.isEmpty)
    #expect(transfers.ids() == ["one"])
  }

  /// Hands over when it is let, whatever is cancelled meanwhile.
  private final class Slow: BackgroundTransfers {
    let inner = ScriptedTransfers()
    let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
    var endsWithProcess: Bool { false }
    func begin(_ id: String, _ request: HTTPRequest, file: URL) async throws {
      // The job's own goes with the job.
      let copy = URL(filePath: file.path + "-copy")
      try FileManager.default.copyItem(at: file, to: copy)
      await withCheckedContinuation { waiting in gate.withLock { $0 = waiting } }
      try inner.begin(id, request, file: copy)
    }
    func ids() async -> Set<String> { inner.ids() }
    func forget(_ id: String) async { inner.forget(id) }
    func run(_ take: @escaping @Sendable (_ id: String, TransferAnswer) async -> Void) async {
      await inner.run(take)
    }
  }

  @Test func `a job that is ready keeps its place each time that its upload is missed`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, transfers, concurrency: 1)
      try rig.live(worker, until: 10)
      try rig.write { try queue.pause(in: $0) }
      transfers.lose(try #require(transfers.held.first).id)
      // Ready from here on, and before what is enqueued later.
      try rig.live(worker, until: 20)
      _ = try rig.enqueue(queue, Tidy(name: "the hall"))
      try rig.live(worker, until: 30)
      try rig.write { try queue.resume(in: $0) }
      try rig.live(worker, until: 40)
      #expect(rig.notes().suffix(2) == ["30 #1 start, attempt 1", "30 tidy the hall"])
    }
  }

  @Test func `neither another network nor another run starts a job whose upload goes on`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = ScriptedTransfers()
      let id = try rig.enqueuePhoto(queue)
      let worker = rig.photoWorker(queue, transfers)
      try rig.live(worker, until: 10) {
        try await rig.sleep(1)
        transfers.answer(transfers.held[0].id, with: .failure(.unreachable))
        // Time for the second upload to begin.
        try await rig.sleep(5)
        rig.path.set(hasRoute: true)
      }
      #expect(transfers.begun.count == 2)
      let starts = try rig.record(queue, id).starts
      // The first, that for the answer, and the next attempt.
      #expect(starts == 3)
      try rig.live(worker, until: 20)
      #expect(try rig.record(queue, id).starts == starts)
      #expect(try rig.record(queue, id).unreached == 0)
      transfers.answer(try #require(transfers.held.first).id, with: .titles)
      try rig.live(worker, until: 30)
      #expect(try rig.titles() == ["Dune"])
    }
  }

  @Test func `a job that is cancelled while its upload is handed over withdraws it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let transfers = Slow()
      let id = try rig.enqueuePhoto(queue)
      try rig.live(rig.photoWorker(queue, transfers), until: 10) {
        try await rig.sleep(1)
        try rig.write { db in _ = try queue.cancel(id, in: db) }
        try await rig.sleep(1)
        transfers.gate.withLock { $0 }?.resume()
      }
      #expect(transfers.inner.begun.count == 1)
      #expect(transfers.inner.ids().isEmpty)
    }
  }
}

/// A photo for nobody whose gate could hold it.
private struct Unserved: Job {
  static let kind = "unserved"
}
