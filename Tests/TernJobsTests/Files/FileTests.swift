import Foundation
import GRDB
import Synchronization
import Tern
import TernCore
import TernDatabase
import TestProcesses
import Testing

@testable import TernJobs

@Suite("Files: a job's files")
struct FileTests {
  private func attach(_ rig: Rig, _ queue: JobQueue, _ text: String, as name: String) throws
    -> JobFile
  {
    try rig.perform { try await queue.attach(Data(text.utf8), as: name) }
  }

  /// A worker whose handler runs `body`.
  private func worker(
    _ queue: JobQueue, _ body: @escaping @Sendable (JobContext) async throws -> Void
  ) -> JobWorker {
    JobWorker(queue) { $0.handle(Tidy.self) { _, context in try await body(context) } }
  }

  private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  @Test func `a job has its own copy until it is done`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let original = rig.files.deletingLastPathComponent().appending(path: "photo.jpg")
      try Data("photo".utf8).write(to: original)
      let file = try rig.perform { try await queue.attach(copyOf: original, as: "photo") }
      try FileManager.default.removeItem(at: original)
      _ = try rig.enqueue(queue, Tidy(name: ""), files: [file])
      try rig.drain(
        worker(queue) { context in rig.note(try text(context.file("photo"))) })
      #expect(rig.notes() == ["0 photo"])
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  @Test func `who shows a job's file finds it until it goes with the job`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let file = try attach(rig, queue, "photo", as: "photo")
      let job = try rig.enqueue(queue, Tidy(name: ""), files: [file])
      let found = try rig.write { try queue.file("photo", of: job, in: $0) }
      #expect(try text(#require(found)) == "photo")
      #expect(try rig.write { try queue.file("other", of: job, in: $0) } == nil)
      #expect(try rig.write { try queue.file("photo", of: JobID(rawValue: 99), in: $0) } == nil)
      try rig.drain(worker(queue) { _ in })
      #expect(try rig.write { try queue.file("photo", of: job, in: $0) } == nil)
    }
  }

  @Test func `a file outlives a rolled back transaction, and goes when nobody wants it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      var file: JobFile? = try attach(rig, queue, "photo", as: "photo")
      #expect(throws: Failure.self) {
        try rig.write { db in
          _ = try queue.enqueue(Tidy(name: ""), files: [file!], in: db)
          throw Failure(.failed)
        }
      }
      #expect(try rig.storedFiles().count == 1)
      // A savepoint takes back what its transaction keeps.
      try rig.write { db in
        try db.inSavepoint {
          _ = try queue.enqueue(Tidy(name: ""), files: [file!], in: db)
          return .rollback
        }
      }
      _ = try rig.enqueue(queue, Tidy(name: ""), files: [file!])
      let error = #expect(throws: JobQueueError.self) {
        _ = try rig.enqueue(queue, Tidy(name: ""), files: [file!])
      }
      #expect(error?.code == .fileInUse)
      file = nil
      #expect(try rig.storedFiles().count == 1)
      file = try attach(rig, queue, "other", as: "photo")
      #expect(try rig.storedFiles().count == 2)
      file = nil
      #expect(try rig.storedFiles().count == 1)
    }
  }

  @Test func `a step makes files for the next and gives up those that were used`() throws {
    try Rig.run { rig in
      var queue = try rig.open()
      let photo = try attach(rig, queue, "photo", as: "photo")
      _ = try rig.enqueue(queue, Tidy(name: ""), files: [photo])
      let body: @Sendable (JobContext) async throws -> Void = { context in
        let count = try await context.step("crop") { files in
          let content = try text(context.file("photo"))
          try Data("crop of \(content)".utf8).write(to: files.create("crop"))
          files.release("photo")
          return content.count
        }
        rig.note("\(count) \(try text(context.file("crop")))")
        do {
          _ = try context.file("photo")
        } catch let error as JobQueueError {
          rig.note(error.code == .noSuchFile ? "no photo" : "\(error)")
        }
        try await rig.sleep(10)
      }
      try rig.live(worker(queue, body), until: 5)
      #expect(try rig.storedFiles().count == 1)
      queue = try rig.open()
      try rig.live(worker(queue, body), until: 50)
      #expect(
        rig.notes() == ["0 5 crop of photo", "0 no photo", "5 5 crop of photo", "5 no photo"])
      #expect(try rig.storedFiles().isEmpty)
    }
  }

  @Test func `releasing a file that the job does not have is an error with a name`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: ""))
      try rig.drain(
        worker(queue) { context in
          _ = try await context.step("crop") { files in
            files.release("foto")
            return 1
          } commit: { db, _ in
            try db.execute(sql: "INSERT INTO book VALUES ('x')")
          }
        })
      let record = try rig.record(queue, id)
      #expect(record.state == .failed)
      #expect(record.reason?.contains("“foto”") == true)
      #expect(try rig.titles().isEmpty)
    }
  }

  @Test func `a step that was not committed leaves the files as they were`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let photo = try attach(rig, queue, "photo", as: "photo")
      _ = try rig.enqueue(queue, Tidy(name: ""), files: [photo])
      try rig.live(
        worker(queue) { context in
          rig.note(try text(context.file("photo")))
          _ = try await context.step("crop") { files in
            try Data().write(to: files.create("crop"))
            files.release("photo")
            return 1
          } commit: { _, _ in
            if rig.seconds < 1 { throw Failure(.failed) }
          }
        }, until: 0.5)
      #expect(try rig.storedFiles().count == 1)
      try rig.live(worker(queue) { context in rig.note(try text(context.file("photo"))) }, until: 5)
      #expect(rig.notes() == ["0 photo", "1 photo"])
    }
  }

  @Test func `what a dead process left to nobody is swept, and what a live one has is not`() throws
  {
    try Rig.run { rig in
      // As a process leaves it that dies between the copy and the commit.
      func beginAndDie() throws -> URL {
        let queue = try rig.open()
        let kept = try attach(rig, queue, "kept", as: "a")
        _ = try rig.enqueue(queue, Tidy(name: ""), files: [kept])
        let session = try #require(try rig.storedFiles().first?.split(separator: "/").first)
        let orphan = rig.files.appending(path: "\(session)/00000000000000ff")
        try Data("orphan".utf8).write(to: orphan)
        let second = try rig.open()
        #expect(FileManager.default.fileExists(atPath: orphan.path), "its process lives")
        withExtendedLifetime((queue, second)) {}
        return orphan
      }
      let foreign = rig.files.appending(path: "the app's own/file")
      try FileManager.default.createDirectory(
        at: foreign.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("foreign".utf8).write(to: foreign)
      let orphan = try beginAndDie()
      let queue = try rig.open()
      #expect(!FileManager.default.fileExists(atPath: orphan.path))
      #expect(FileManager.default.fileExists(atPath: foreign.path))
      #expect(try rig.storedFiles().count == 2)
      try rig.drain(worker(queue) { context in rig.note(try text(context.file("a"))) })
      #expect(rig.notes() == ["0 kept"])
    }
  }

  @Test func `a full disk is an error with a name, and nothing is left behind`() throws {
    try withTemporaryFolder { folder in
      let source = folder + "/source"
      try Data(repeating: 7, count: 1 << 20).write(to: URL(filePath: source))
      let room = Mutex(300_000)
      let full = DurableFile(isSynced: true) { descriptor, bytes in
        let count = room.withLock { room in
          let count = min(room, bytes.count)
          room -= count
          return count
        }
        if count == 0 {
          errno = ENOSPC
          return -1
        }
        return write(descriptor, bytes.baseAddress, count)
      }
      let error = #expect(throws: FileFailure.self) {
        _ = try full.copy(source, to: folder + "/copy", maximumBytes: 1 << 21)
      }
      #expect(error?.isDiskFull == true)
      #expect(!FileManager.default.fileExists(atPath: folder + "/copy"))
    }
    try Rig.run { rig in
      let queue = try rig.open()
      let error = #expect(throws: JobQueueError.self) {
        try queue.reportingFile("photo") { throw FileFailure("writing a file", ENOSPC) }
      }
      #expect(error?.code == .diskFull)
      #expect(error?.description.contains("“photo”") == true)
    }
  }

  @Test func `a source that is not there is an error with a name`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let error = #expect(throws: JobQueueError.self) {
        try rig.perform { try await queue.attach(copyOf: URL(filePath: "/nowhere"), as: "photo") }
      }
      #expect(error?.code == .fileFailed)
      #expect(try rig.storedFiles().isEmpty)
    }
  }
}
