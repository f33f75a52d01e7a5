import GRDB
import Synchronization
import Tern
import TernJobs
import Testing

@Suite("Worker: the order of jobs, and who wakes a worker")
struct OrderTests {
  @Test func `several run at once, in the order of enqueueing`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      for number in 1...7 { _ = try rig.enqueue(queue, Tidy(name: "\(number)")) }
      let running = Mutex((now: 0, most: 0))
      let worker = JobWorker(queue, concurrency: 3) {
        $0.handle(Tidy.self) { job, _ in
          running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          rig.note(job.name)
          try await rig.sleep(1)
          running.withLock { $0.now -= 1 }
        }
      }
      try rig.drain(worker)
      #expect(running.withLock { $0.most } == 3)
      let starts = rig.notes()
      #expect(Set(starts.prefix(3)) == ["0 1", "0 2", "0 3"])
      #expect(Set(starts[3..<6]) == ["1 4", "1 5", "1 6"])
      #expect(starts[6...] == ["2 7"])
    }
  }

  @Test func `a retried job is not starved by new ones`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "first"))
      for number in 1...3 { _ = try rig.enqueue(queue, Tidy(name: "\(number)")) }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          if job.name == "first" {
            if context.attempt == 1 { throw Failure(.failed) }
          } else {
            // Each job makes another: there is always a new one.
            try await rig.sleep(0.6)
            _ = try rig.write { try queue.enqueue(Tidy(name: "new"), in: $0) }
          }
        }
      }
      try rig.live(worker, until: 5)
      // Ready at 1, behind what was ready before, and before what is made later.
      #expect(rig.notes().filter { $0.hasSuffix("first") } == ["0 first", "2.4 first"])
    }
  }

  @Test func `what is enqueued while a worker sleeps is begun at once`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, _ in rig.note(job.name) }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          _ = try rig.write { try queue.enqueue(Tidy(name: "a"), in: $0) }
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes() == ["5 a"])
    }
  }

  @Test func `what another process enqueues just after a worker began is found by looking`() throws
  {
    try Rig.run(.pool) { rig in
      rig.pollInterval = .seconds(10)
      let queue = try rig.open()
      let other = try DatabaseQueue(path: rig.files.path.replacing("/files", with: "/app.sqlite"))
      let elsewhere = try rig.open(other)
      let worker = JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(1)
          try rig.enqueueElsewhere(other, elsewhere)
          try await rig.sleep(30)
        }
      }
      #expect(rig.notes() == ["10 a"])
    }
  }

  @Test func `what another queue of the process retries or removes wakes a worker that sleeps`()
    throws
  {
    try Rig.run { rig in
      let (queue, other) = (try rig.open(), try rig.open())
      let tidy = try rig.enqueue(queue, Tidy(name: "tidy"))
      let scan = try rig.enqueue(queue, Scan(shelf: "1"))
      _ = try rig.enqueue(queue, Scan(shelf: "2"))
      let worker = JobWorker(queue, concurrency: 2) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          if rig.seconds < 1 { throw Failure(.permanent) }
        }
        $0.handle(Scan.self) { job, _ in
          rig.note(job.shelf)
          if rig.seconds < 1 { throw Failure(.limited(delay: .seconds(1))) }
          // The probe, and nobody passes the gate before it tells.
          if job.shelf == "1" { try await rig.sleep(50) }
        }
      }
      try rig.perform {
        try await worker.run {
          try await rig.sleep(5)
          _ = try rig.write { try other.retry(tidy, in: $0) }
          try await rig.sleep(5)
          _ = try rig.write { try other.remove(scan, in: $0) }
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes().filter { !$0.hasPrefix("0 ") } == ["1 1", "5 tidy", "10 2"])
    }
  }

  @Test func `what is rolled back is not begun`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      #expect(throws: Failure.self) {
        try rig.write { db in
          try queue.enqueue(Tidy(name: "a"), in: db)
          throw Failure(.failed)
        }
      }
      try rig.drain(JobWorker(queue) { $0.handle(Tidy.self) { job, _ in rig.note(job.name) } })
      #expect(rig.notes().isEmpty)
    }
  }

  @Test func `a shutdown cancels what runs, at no cost, and the next run has it first`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      for name in ["a", "b"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note("\(job.name) \(context.attempt)")
          do {
            try await rig.sleep(10)
          } catch {
            // As a transport puts it whose exchange was cancelled.
            throw Failure(.interrupted(isLocal: true))
          }
        }
      }
      try rig.live(worker, until: 5)
      #expect(try rig.database.read(queue.records).map(\.state) == [.waiting, .waiting])
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["0 a 1", "5 a 1", "15 b 1"])
    }
  }
}

extension Rig {
  fileprivate func enqueueElsewhere(_ database: DatabaseQueue, _ queue: JobQueue) throws {
    _ = try database.write { try queue.enqueue(Tidy(name: "a"), in: $0) }
  }
}
