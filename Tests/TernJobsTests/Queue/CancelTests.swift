import Foundation
import GRDB
import Tern
import TernJobs
import Testing

@Suite("Queue: cancelling and removing jobs")
struct CancelTests {
  @Test func `INV-04: a job that waits is cancelled, and keeps nothing`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      rig.limits.jobs = 1
      let small = try rig.open()
      let file = try rig.perform { try await small.attach(Data("x".utf8), as: "f") }
      let id = try rig.enqueue(small, Tidy(name: "a"), files: [file])
      #expect(try rig.write { try small.cancel(id, in: $0) })
      #expect(try rig.write { try small.cancel(id, in: $0) } == false)
      let record = try rig.record(queue, id)
      #expect(record.state == .cancelled)
      #expect(try rig.storedFiles() == [])
      #expect(try rig.write { try small.retry(id, in: $0) } == false)
      // It counts no more.
      let next = try rig.enqueue(small, Tidy(name: "b"))
      try rig.drain(JobWorker(small) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(rig.notes() == ["0 b"])
      #expect(try rig.write { try small.cancel(next, in: $0) } == false)
      // One that has ended can be removed, and then does not count either.
      #expect(try rig.write { try small.remove(id, in: $0) })
      _ = try rig.enqueue(small, Tidy(name: "c"))
    }
  }

  @Test(arguments: [true, false])
  func `INV-04: a running handler is cancelled, and nothing it stores is taken`(_ isRemoved: Bool)
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          guard job.name == "a" else { return rig.note(job.name) }
          do {
            try await rig.sleep(100)
          } catch {
            rig.note("cancelled")
            let error = await #expect(throws: JobQueueError.self) {
              try await context.step("late") { 1 }
            }
            #expect(error?.code == .notRunning)
            throw error!
          }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          // All slots are busy, and the worker looks all the same.
          try rig.write { db in
            try queue.enqueue(Tidy(name: "b"), in: db)
            _ = try isRemoved ? queue.remove(id, in: db) : queue.cancel(id, in: db)
          }
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes() == ["5 cancelled", "5 b"])
      #expect(
        try rig.database.read(queue.records).map(\.state)
          == (isRemoved ? [.done] : [.cancelled, .done]))
    }
  }

  @Test func `a running job that another connection cancels ends, at a look where no system tells`()
    throws
  {
    try Rig.run(.pool) { rig in
      rig.pollInterval = .seconds(10)
      let queue = try rig.open()
      let other = try DatabaseQueue(path: rig.files.path.replacing("/files", with: "/app.sqlite"))
      let elsewhere = try rig.open(other)
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { _, _ in
          do { try await rig.sleep(100) } catch { rig.note("cancelled") }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(1)
          try rig.cancel(id, elsewhere)
          try await rig.sleep(20)
        }
      }
      #expect(rig.notes() == ["10 cancelled"])
    }
  }

  @Test func `a cancelled probe leaves its gate to the next`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let first = try rig.enqueue(queue, Scan(shelf: "a"))
      _ = try rig.enqueue(queue, Scan(shelf: "b"))
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { job, context in
          rig.note("\(job.shelf) \(context.attempt)")
          if rig.seconds < 1 { throw Failure(.limited(delay: .seconds(10))) }
          if job.shelf == "a" { try await rig.sleep(50) }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(15)
          _ = try rig.write { try queue.cancel(first, in: $0) }
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes().suffix(2) == ["10 a 1", "15 b 1"])
      #expect(try rig.gates(queue) == [])
    }
  }

  @Test(arguments: [true, false])
  func `a step's own commit ends its job, with its rows and without its files`(_ isRemoved: Bool)
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      let id = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { _, context in
          _ = try await context.step("last") { files in
            try Data("crop".utf8).write(to: files.create("crop"))
            return true
          } commit: { db, _ in
            try db.execute(sql: "INSERT INTO book VALUES ('Dune')")
            _ = try isRemoved ? queue.remove(context.id, in: db) : queue.cancel(context.id, in: db)
          }
          let error = await #expect(throws: JobQueueError.self) {
            try await context.step("more") {}
          }
          #expect(error?.code == .notRunning)
          rig.note("ended")
        }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 ended"])
      #expect(try rig.titles() == ["Dune"])
      #expect(try rig.storedFiles() == [])
      let record = try rig.database.read { try queue.record(id, in: $0) }
      #expect(record?.state == (isRemoved ? nil : .cancelled))
      let counts = try rig.database.read { db in
        try ["grdb_tern_jobcheckpoint", "grdb_tern_jobfile"].map {
          try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")!
        }
      }
      #expect(counts == [0, 0])
    }
  }
}

extension Rig {
  /// As another process does, on this thread.
  fileprivate func cancel(_ id: JobID, _ queue: JobQueue) throws {
    try queue.database.write { _ = try queue.cancel(id, in: $0) }
  }
}
