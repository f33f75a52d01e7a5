import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// What observers are told of a job's life.
@Suite("Events: what observers are told of a job's life")
struct ObserverTests {
  @Test func `one job's whole life is told, in order, with what each attempt cost`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Scan(shelf: "1"))
      let tries = Mutex(0)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          try await rig.sleep(2)
          switch tries.withLock({ tries in
            tries += 1
            return tries
          }) {
          case 1: throw Failure(.failed)
          case 2: throw Failure(.limited(delay: .seconds(30)))
          default:
            _ = try await context.step("scan") { 1 }
            try await context.save("page", 7)
          }
        }
      }
      try rig.drain(worker, waiting: .seconds(100))
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0",
          "0 #1 started after 0.0 (1, start 1)",
          "2 #1 failed, counts, after(1.0 seconds) (1, start 1)",
          "3 #1 started after 0.0 (2, start 2)",
          "5 #1 failed, free, gate(30.0 seconds) (2, start 2)",
          "5 #1 held by gate",
          "35 #1 started after 30.0 as probe (2, start 3)",
          "37 #1 stepped scan (2, start 3)",
          "37 #1 saved page (2, start 3)",
          "37 #1 done in 2.0 at 37.0 (2, start 3)",
        ])
    }
  }

  @Test func `a job that fails for good is told so, and so is its new beginning`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, _ in throw Failure(.permanent) }
      }
      try rig.drain(worker)
      try rig.write { _ = try queue.retry(id, in: $0) }
      #expect(
        rig.notes() == [
          "0 #1 enqueued, due in 0.0", "0 #1 started after 0.0 (1, start 1)",
          "0 #1 failed, free, never (1, start 1)", "0 #1 retried",
        ])
    }
  }

  @Test func `what is said of an error is its type and case, and whether it was advised`() throws {
    let heard = Heard()
    try Rig.run { rig in
      rig.observers = [heard]
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, _ in throw Silent.because(secret: "hush") }
        })
      let failures = heard.events.compactMap { event in
        if case .failed(let failure, _) = event.change { failure } else { nil }
      }
      #expect(failures.map(\.error) == ["Silent.because"])
      #expect(failures.map(\.advice) == [.failed])
      #expect(heard.events.map(\.unfinished) == [1, 1, 1])
    }
  }

  // MARK: - Only what is committed

  @Test func `a transaction that is rolled back tells nothing`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      struct No: Error {}
      #expect(throws: No.self) {
        try rig.write { db in
          try queue.enqueue(Tidy(name: "a"), in: db)
          try queue.enqueue(Tidy(name: "b"), unique: .skip("b"), in: db)
          throw No()
        }
      }
      #expect(rig.notes() == [])
      // What comes next under the same id is told once.
      _ = try rig.enqueue(queue, Tidy(name: "c"))
      #expect(rig.notes() == ["0 #1 enqueued, due in 0.0"])
    }
  }

  @Test func `a savepoint that is rolled back tells nothing of its part`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      let ids = try ["a", "b", "c"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let unique = try rig.write {
        try queue.enqueue(Tidy(name: "d"), unique: .replace("d"), in: $0)
      }
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { job, _ in
            if job.name == "c" { throw Failure(.permanent) }
            throw Failure(.limited(delay: .seconds(30)))
          }
        })
      _ = rig.notes()
      try rig.write { db in
        try db.inSavepoint {
          _ = try queue.cancel(ids[0], in: db)
          _ = try queue.remove(ids[1], in: db)
          _ = try queue.retry(ids[2], in: db)
          try queue.enqueue(Tidy(name: "other"), unique: .replace("d"), in: db)
          try queue.enqueue(Tidy(name: "new"), in: db)
          try queue.remove(queue.enqueue(Tidy(name: "never"), in: db), in: db)
          return .rollback
        }
        try queue.enqueue(Tidy(name: "stands"), in: db)
        #expect(try queue.cancel(unique, in: db))
      }
      #expect(rig.notes() == ["0 #5 enqueued, due in 0.0", "0 #4 cancelled"])
    }
  }

  @Test func `what one transaction does to one job is told as it stands in the end`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      func replace(_ name: String, _ key: String, in db: Database) throws -> JobID {
        try queue.enqueue(Tidy(name: name), unique: .replace(key), in: db)
      }
      let first = try rig.write { try replace("a", "k", in: $0) }
      _ = rig.notes()
      // It was there before, and is gone although it was replaced.
      try rig.write { try queue.remove(replace("b", "k", in: $0), in: $0) }
      #expect(rig.notes() == ["0 #\(first.rawValue) removed"])
      // It never was, and so was never cancelled either.
      try rig.write { db in
        try db.inSavepoint {
          _ = try queue.cancel(queue.enqueue(Tidy(name: "never"), in: db), in: db)
          return .rollback
        }
      }
      #expect(rig.notes().isEmpty)
      // It is there, and was another one before anybody could see it.
      let last = try rig.write { db in
        _ = try replace("c", "new", in: db)
        return try replace("d", "new", in: db)
      }
      let id = "0 #\(last.rawValue)"
      #expect(rig.notes() == ["\(id) enqueued, due in 0.0", "\(id) replaced"])
    }
  }

  @Test func `a step that is not committed tells nothing, nor what it enqueued`() throws {
    try Rig.observed { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { job, context in
            guard job.name == "a" else { return }
            let isFirst = context.attempt == 1
            try await context.step("work") {
            } commit: { db in
              try queue.enqueue(Tidy(name: isFirst ? "lost" : "kept"), in: db)
              if isFirst { throw Failure(.failed) }
            }
          }
        }, waiting: .seconds(10))
      let notes = rig.notes()
      #expect(notes.filter { $0.contains("stepped") } == ["1 #1 stepped work (2, start 2)"])
      #expect(notes.filter { $0.contains("#2 enqueued") } == ["1 #2 enqueued, due in 0.0"])
    }
  }

  @Test func `who enqueues one that is there already hears nothing, and who replaces one does`()
    throws
  {
    try Rig.observed { rig in
      let queue = try rig.open()
      for _ in 0..<2 {
        try rig.write { _ = try queue.enqueue(Tidy(name: "a"), unique: .skip("a"), in: $0) }
      }
      try rig.write { _ = try queue.enqueue(Tidy(name: "b"), unique: .replace("a"), in: $0) }
      #expect(rig.notes() == ["0 #1 enqueued, due in 0.0", "0 #1 replaced"])
    }
  }

  /// The process is where the observer waits, and the database is where it was told to be.
  @Test(.timeLimit(.minutes(1)))
  func `an observer that blocks holds up the writer, and nothing that it is told of`() async throws
  {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "tern-observer-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let database = try DatabasePool(path: folder.appending(path: "app.sqlite").path)
    let blocking = Blocking()
    let queue = try await JobQueue.open(
      database, environment: JobEnvironment(observers: [blocking]))
    let id = try await database.write { try queue.enqueue(Tidy(name: "a"), in: $0) }
    let worker = JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } }
    async let drained = worker.drain()
    var told = blocking.starts.makeAsyncIterator()
    _ = await told.next()
    // It is stored, though the observer has not returned.
    let running = try await database.read { try queue.record(id, in: $0) }
    #expect(running?.state == .running)
    blocking.letGo.signal()
    _ = try await drained
    let done = try await database.read { try queue.record(id, in: $0) }
    #expect(done?.state == .done && done?.starts == 1)
  }
}

/// Waits at the first start until it is let go.
private final class Blocking: JobObserver {
  let letGo = DispatchSemaphore(value: 0)
  let starts: AsyncStream<Void>
  private let told: AsyncStream<Void>.Continuation

  init() { (starts, told) = AsyncStream.makeStream() }

  func observe(_ event: JobEvent) {
    guard case .started = event.change else { return }
    told.yield()
    letGo.wait()
  }
}

/// Keeps what it is told.
final class Heard: JobObserver {
  private let heard = Mutex<[JobEvent]>([])

  var events: [JobEvent] { heard.withLock { $0 } }

  func observe(_ event: JobEvent) { heard.withLock { $0.append(event) } }
}
