import Foundation
import GRDB
import Tern
import TernJobs
import Testing

@Suite("Queue: jobs of one kind and key")
struct UniqueJobTests {
  private func enqueue(
    _ queue: JobQueue, _ rig: Rig, _ name: String, _ unique: JobUniqueness, files: [JobFile] = [],
    priority: Int = 0
  ) throws -> JobID {
    try rig.write {
      try queue.enqueue(
        Tidy(name: name), priority: priority, unique: unique, files: files, in: $0)
    }
  }

  @Test func `a job is skipped while one of its kind and key has not ended`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      func standing(_ key: String) throws -> JobID? {
        try rig.database.read { try queue.unfinished(Tidy.self, uniqueBy: key, in: $0) }
      }
      #expect(try standing("k") == nil)
      let first = try enqueue(queue, rig, "a", .skip("k"))
      #expect(try enqueue(queue, rig, "b", .skip("k")) == first)
      #expect(try standing("k") == first && standing("other") == nil)
      #expect(try enqueue(queue, rig, "c", .skip("other")) != first)
      // A key is its kind's own.
      let scan = try rig.write {
        try queue.enqueue(Scan(shelf: "s"), unique: .skip("k"), in: $0)
      }
      #expect(scan != first)
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, _ in }
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          try await rig.sleep(1)
          // Also while it runs.
          if job.name == "a" {
            #expect(try self.enqueue(queue, rig, "d", .skip("k")) == context.id)
          }
        }
      }
      try rig.drain(worker)
      #expect(Set(rig.notes()) == ["0 a", "0 c"])
      #expect(try standing("k") == nil)
      let second = try enqueue(queue, rig, "e", .skip("k"))
      #expect(second > first)
      #expect(try rig.record(queue, second).uniqueKey == "k")
      try rig.drain(worker)
      #expect(rig.notes() == ["1 e"])
    }
  }

  @Test func `a job that waits is replaced, with its files, and what it stored is gone`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let old = try rig.perform { try await queue.attach(Data("old".utf8), as: "f") }
      let first = try enqueue(queue, rig, "a", .replace("k"), files: [old])
      var keys: [String] = []
      func work(
        until end: Double, _ body: @escaping @Sendable (String, JobContext) async throws -> Void
      )
        throws
      {
        try rig.live(
          JobWorker(queue) {
            $0.handle(Tidy.self) { job, context in
              rig.note(
                "\(job.name) \(context.attempt) \(context.idempotencyKey("x")) "
                  + (try String(contentsOf: context.file("f"), encoding: .utf8)))
              try await body(job.name, context)
            }
          }, until: end)
        keys += rig.notes()
      }
      try work(until: 0.5) { _, context in
        _ = try await context.step("done") { 1 }
        throw Failure(.failed)
      }
      #expect(try rig.record(queue, first).failures == 1)
      let new = try rig.perform { try await queue.attach(Data("new".utf8), as: "f") }
      #expect(try enqueue(queue, rig, "b", .replace("k"), files: [new], priority: 3) == first)
      let record = try rig.record(queue, first)
      #expect(record.failures == 0 && record.priority == 3 && record.reason == nil)
      #expect(try rig.database.read { try queue.failedAttempts(of: first, in: $0) } == [])
      #expect(try rig.storedFiles().count == 1)
      try work(until: 3) { name, context in
        let result = try await context.step("done") { 2 }
        #expect(name == "b" && result == 2)
      }
      try #require(keys.count == 2)
      let parts = keys.map { $0.split(separator: " ").map(String.init) }
      #expect(parts.map { $0[1] } == ["a", "b"] && parts.map { $0[2] } == ["1", "1"])
      #expect(parts.map { $0[4] } == ["old", "new"])
      #expect(parts[0][3] != parts[1][3], "one idempotency key names two different requests")
      #expect(try rig.storedFiles() == [])
    }
  }

  @Test func `replacing leaves a job alone that runs, and the new one waits beside it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let first = try enqueue(queue, rig, "a", .replace("k"))
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          guard context.id == first else { return }
          let second = try self.enqueue(queue, rig, "b", .replace("k"))
          #expect(second != first)
          #expect(try self.enqueue(queue, rig, "c", .replace("k")) == second)
          try await rig.sleep(1)
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 a", "1 c"])
    }
  }

  @Test func `of several of a key that wait, the one that replaces is all that is left`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      @Sendable func put(_ name: String) throws -> JobID {
        try rig.write { try queue.enqueue(Tidy(name: name), unique: .replace("k"), in: $0) }
      }
      func states() throws -> [String] {
        try rig.database.read { try queue.records(in: $0) }.map { "\($0.id) \($0.state)" }
      }
      let first = try put("a")
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          if job.name == "a" { _ = try put("b") }
          if job.name < "c" { throw Failure(.unreachable) }
        }
      }
      try rig.live(worker, until: 0.1)
      #expect(rig.notes() == ["0 a", "0 b"])
      #expect(try states() == ["1 waiting", "2 waiting"])
      #expect(try put("c") == first)
      #expect(try states() == ["1 waiting", "2 cancelled"])
      try rig.live(worker, until: 60)
      #expect(rig.notes() == ["0.1 c"])
      #expect(try put("d") != first)
    }
  }

  @Test func `what a caller rolls back is neither skipped nor replaced, and a long key is refused`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let first = try enqueue(queue, rig, "a", .replace("k"))
      try rig.write { db in
        try db.inSavepoint {
          let replaced = try queue.enqueue(Tidy(name: "b"), unique: .replace("k"), in: db)
          #expect(replaced == first)
          return .rollback
        }
        let error = #expect(throws: JobQueueError.self) {
          try queue.enqueue(
            Tidy(name: "c"), unique: .skip(String(repeating: "ü", count: 501)), in: db)
        }
        #expect(error?.code == .keyTooLong)
        #expect(
          error?.message
            == "the unique key of a tidy has 1002 bytes, and the limit is 1000; take a shorter one")
        for (noun, enqueue) in [
          ("unique key", { try queue.enqueue(Tidy(name: "d"), unique: .skip("a\0b"), in: db) }),
          ("lane", { try queue.enqueue(Tidy(name: "d"), lane: "a\0b", in: db) }),
          ("service", { try queue.enqueue(Tidy(name: "d"), service: "a\0b", in: db) }),
        ] {
          let error = #expect(throws: JobQueueError.self) { _ = try enqueue() }
          #expect(error?.code == .invalidName)
          #expect(error?.message == "the \(noun) of a tidy holds U+0000; take it out")
        }
      }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(rig.notes() == ["0 a"])
    }
  }
}
