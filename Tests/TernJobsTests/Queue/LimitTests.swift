import Foundation
import GRDB
import Tern
import TernJobs
import Testing

/// At a limit new work is refused by name, and what is there stays (INV-10).
@Suite("Queue: limits")
struct JobLimitTests {
  private func expect(
    _ code: JobQueueError.Code, location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = #expect(throws: JobQueueError.self, sourceLocation: location) { try body() }
    #expect(error?.code == code, sourceLocation: location)
  }

  @Test func `a payload that is too long is refused, and its transaction goes on`() throws {
    try Rig.run { rig in
      rig.limits.payloadBytes = 100
      let queue = try rig.open()
      try rig.write { db in
        try db.execute(sql: "INSERT INTO book VALUES ('Dune')")
        expect(.payloadTooLarge) {
          try queue.enqueue(Tidy(name: String(repeating: "x", count: 100)), in: db)
        }
        try queue.enqueue(Tidy(name: "x"), in: db)
      }
      #expect(try rig.titles() == ["Dune"])
      #expect(try rig.database.read(queue.records).count == 1)
    }
  }

  @Test func `only so many jobs that are not done are taken, and each that is done makes room`()
    throws
  {
    try Rig.run { rig in
      rig.limits.jobs = 3
      rig.limits.keptDone = 2
      let queue = try rig.open()
      let ids = try (1...3).map { try rig.enqueue(queue, Tidy(name: "\($0)")) }
      expect(.tooManyJobs) { _ = try rig.enqueue(queue, Tidy(name: "4")) }
      #expect(try rig.write { try queue.remove(ids[0], in: $0) })
      _ = try rig.enqueue(queue, Tidy(name: "5"))
      expect(.tooManyJobs) { _ = try rig.enqueue(queue, Tidy(name: "6")) }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { _, _ in } })
      // The newest that are done are kept for who looks.
      #expect(try rig.database.read(queue.records).map(\.state) == [.done, .done])
      #expect(try rig.write { try queue.remove(ids[2], in: $0) })
      for number in 1...3 { _ = try rig.enqueue(queue, Tidy(name: "\(number)")) }
      expect(.tooManyJobs) { _ = try rig.enqueue(queue, Tidy(name: "7")) }
    }
  }

  @Test func `a full queue takes what its own jobs enqueue as they commit, and drains`() throws {
    try Rig.run { rig in
      rig.limits.jobs = 2
      let queue = try rig.open()
      let ids = try ["a", "b"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          try await context.step("last") {
          } commit: { db in
            try queue.enqueue(Scan(shelf: job.name), in: db)
          }
          // Outside of a commit it is new work as any other's.
          expect(.tooManyJobs) { _ = try rig.enqueue(queue, Patient()) }
        }
        $0.handle(Scan.self) { job, _ in rig.note(job.shelf) }
      }
      try rig.live(worker, until: 100)
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done])
      #expect(rig.notes().sorted() == ["0 a", "0 b"])
    }
  }

  @Test func `what jobs enqueue as they commit has a limit too, which saved values share`() throws {
    try Rig.run { rig in
      rig.limits.jobs = 1
      rig.limits.followUps = 2
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { _, context in
          try await context.step("first") {
          } commit: { db in
            try queue.enqueue(Scan(shelf: "1"), in: db)
          }
          try await context.save("second", 2) { db in
            try queue.enqueue(Scan(shelf: "2"), unique: .skip("2"), in: db)
            expect(.tooManyJobs) { try queue.enqueue(Scan(shelf: "3"), in: db) }
          }
        }
        $0.handle(Scan.self) { job, _ in rig.note(job.shelf) }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
      #expect(rig.notes() == ["0 1", "0 2"])
    }
  }

  @Test func `files have a size, a number and a name each`() throws {
    try Rig.run { rig in
      rig.limits.fileBytes = 10
      rig.limits.filesPerJob = 2
      let queue = try rig.open()
      func attach(_ bytes: Int, _ name: String) throws -> JobFile {
        try rig.perform { try await queue.attach(Data(repeating: 1, count: bytes), as: name) }
      }
      expect(.fileTooLarge) { _ = try attach(11, "a") }
      let long = rig.files.deletingLastPathComponent().appending(path: "long")
      try Data(repeating: 1, count: 11).write(to: long)
      expect(.fileTooLarge) {
        _ = try rig.perform { try await queue.attach(copyOf: long, as: "a") }
      }
      #expect(try rig.storedFiles().isEmpty)
      let (a, b, c) = (try attach(10, "a"), try attach(1, "b"), try attach(1, "c"))
      expect(.tooManyFiles) { _ = try rig.enqueue(queue, Tidy(name: ""), files: [a, b, c]) }
      let again = try attach(1, "a")
      expect(.duplicateFile) { _ = try rig.enqueue(queue, Tidy(name: ""), files: [a, again]) }
      _ = try rig.enqueue(queue, Tidy(name: ""), files: [a, b])
      #expect(try rig.database.read(queue.records).count == 1)
    }
  }

  @Test func `checkpoints have a size and a number`() throws {
    try Rig.run { rig in
      rig.limits.checkpointBytes = 20
      rig.limits.checkpointsPerJob = 2
      rig.limits.fileBytes = 10
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          func code(_ body: () async throws -> Void) async throws -> JobQueueError.Code? {
            do { try await body() } catch let error as JobQueueError { return error.code }
            return nil
          }
          let long = String(repeating: "x", count: 20)
          #expect(
            try await code { _ = try await context.step("1") { long } } == .checkpointTooLarge)
          #expect(try await code { try await context.step("1") {} } == nil)
          #expect(try await code { try await context.save("2", 2) } == nil)
          #expect(try await code { try await context.save("2", 3) } == nil)
          #expect(try await code { try await context.save("3", 3) } == .tooManyCheckpoints)
          let isTooLong = try await code {
            _ = try await context.step("4") { files in
              try Data(repeating: 1, count: 11).write(to: files.create("a"))
              return 4
            }
          }
          #expect(isTooLong == .fileTooLarge)
          let isMissing = try await code {
            _ = try await context.step("5") { files in files.create("a").path.count }
          }
          #expect(isMissing == .noSuchFile)
        }
      }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  @Test func `a reason is cut`() throws {
    try Rig.run { rig in
      rig.limits.messageLength = 12
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      try rig.drain(
        JobWorker(queue) { $0.handle(Tidy.self) { _, _ in throw Failure(.permanent) } })
      #expect(try rig.record(queue, id).reason == "the service…")
    }
  }

  /// A letter can have any number of marks above it.
  @Test func `INV-10: a letter of a mebibyte is no short reason, nor a short message`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      let long = "e" + String(repeating: "\u{301}", count: 1 << 19)
      try rig.drain(
        JobWorker(queue) {
          $0.handle(Tidy.self) { _, context in
            try await context.report(progress: 0.5, message: long)
            throw Failure(.permanent, long)
          }
        })
      let record = try rig.record(queue, id)
      let story = try rig.database.read { try queue.failedAttempts(of: id, in: $0) }
      for text in [record.message, record.reason, story.first?.reason] {
        #expect(text?.unicodeScalars.count == queue.limits.messageLength)
        #expect(text?.hasPrefix("e") == false && text?.unicodeScalars.last == "…")
      }
    }
  }
}
