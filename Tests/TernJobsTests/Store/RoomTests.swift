import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// Jobs that enqueue others in a queue that is full (INV-09, INV-10).
@Suite("Store: jobs that enqueue others in a full queue")
struct RoomTests {
  /// Works, and enqueues so many others in the commit.
  private func register(
    _ handlers: inout JobHandlers, _ rig: Rig, _ queue: JobQueue, following count: Int = 1
  ) {
    handlers.handle(Scan.self) { job, context in
      try await context.step("ask") {
        rig.note("asks\(job.shelf), attempt \(context.attempt)")
      } commit: { db in
        for _ in 0..<count { try queue.enqueue(Tidy(name: "left"), in: db) }
      }
    }
    handlers.handle(Tidy.self) { job, _ in
      if job.name != "left" { try await rig.sleep(Double(job.name)!) }
    }
  }

  private func worker(
    _ rig: Rig, _ queue: JobQueue, concurrency: Int = 4, following count: Int = 1
  ) -> JobWorker {
    JobWorker(queue, concurrency: concurrency, path: rig.path) {
      register(&$0, rig, queue, following: count)
    }
  }

  private func full(_ rig: Rig, _ jobs: Int) throws -> JobQueue {
    (rig.limits.jobs, rig.limits.followUps) = (jobs, 0)
    rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 1)
    return try rig.open()
  }

  @Test func `a step whose commit finds no room is done again when there is some, and not before`()
    throws
  {
    try Rig.run { rig in
      let queue = try full(rig, 2)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      _ = try rig.enqueue(queue, Tidy(name: "200"))
      let worker = worker(rig, queue)
      try rig.live(worker, until: 150) {
        try await rig.sleep(50)
        // Nobody is reached any better.
        rig.path.set(hasRoute: true)
        try await rig.sleep(50)
        let record = try rig.record(queue, id)
        #expect(record.state == .waiting && record.failures == 0 && record.unreached == 0)
        #expect(record.reason?.contains("2 jobs that have not ended") == true)
      }
      #expect(rig.notes() == ["0 asks, attempt 1"])
      // The next run knows nothing of that.
      try rig.drain(worker)
      #expect(rig.notes() == ["150 asks, attempt 1", "350 asks, attempt 1"])
      #expect(try rig.database.read(queue.records).allSatisfy { $0.state == .done })
    }
  }

  @Test func `where one place is free, a job that needs two waits for the second`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 4)
      for name in ["20", "40", "60"] { _ = try rig.enqueue(queue, Tidy(name: name)) }
      _ = try rig.enqueue(queue, Scan(shelf: ""))
      try rig.drain(worker(rig, queue, following: 2))
      #expect(
        rig.notes() == ["0 asks, attempt 1", "20 asks, attempt 1", "40 asks, attempt 1"])
      #expect(try rig.database.read(queue.records).allSatisfy { $0.state == .done })
    }
  }

  @Test func `those that wait for room take it one after the other`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 6)
      _ = try rig.enqueue(queue, Tidy(name: "20"))
      for shelf in 1...5 { _ = try rig.enqueue(queue, Scan(shelf: " \(shelf)")) }
      try rig.drain(worker(rig, queue))
      let notes = rig.notes()
      #expect(notes.prefix(5).sorted() == (1...5).map { "0 asks \($0), attempt 1" })
      #expect(notes.dropFirst(5).sorted() == (1...5).map { "20 asks \($0), attempt 1" })
      #expect(try rig.database.read(queue.records).allSatisfy { $0.state == .done })
    }
  }

  @Test func `those behind one that waits for room go on, and make it some`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 3)
      let ids = try ["wants", "a", "b"].map { try rig.enqueue(queue, Tidy(name: $0)) }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, context in
          rig.note(job.name)
          try await context.step("end") {
          } commit: { db in
            if job.name == "wants" { try queue.enqueue(Patient(), in: db) }
          }
        }
        $0.handle(Patient.self) { _, _ in rig.note("wanted") }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 wants", "0 a", "0 wants", "0 b", "0 wanted"])
      #expect(try ids.map { try rig.record(queue, $0).state } == [.done, .done, .done])
    }
  }

  @Test func `who takes the place of one that waits for room does not wait for it`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 2)
      let other = try rig.enqueue(queue, Patient())
      let id = try rig.write {
        try queue.enqueue(Tidy(name: "wants"), unique: .replace("one"), in: $0)
      }
      let worker = JobWorker(queue) {
        $0.handle(Tidy.self) { job, context in
          try await context.step("end") {
          } commit: { db in
            if job.name == "wants" { try queue.enqueue(Patient(), in: db) }
          }
          rig.note(job.name)
        }
      }
      try rig.write { try queue.pause(Patient.kind, in: $0) }
      try rig.live(worker, until: 10) {
        try await rig.sleep(5)
        #expect(try rig.record(queue, id).starts == 1)
        let new = try rig.write {
          try queue.enqueue(Tidy(name: "new"), unique: .replace("one"), in: $0)
        }
        #expect(new == id)
      }
      #expect(rig.notes() == ["5 new"])
      #expect(try rig.record(queue, other).state == .waiting)
    }
  }

  @Test func `somebody who removes a job makes room`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 2)
      let failed = try rig.enqueue(queue, Patient())
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      let worker = JobWorker(queue) {
        register(&$0, rig, queue)
        $0.handle(Patient.self) { _, _ in throw Failure(.permanent) }
      }
      try rig.live(worker, until: 200) {
        try await rig.sleep(100)
        try rig.write { _ = try queue.remove(failed, in: $0) }
      }
      #expect(rig.notes() == ["0 asks, attempt 1", "100 asks, attempt 1"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a job that finds no room in a transaction of its own waits for it too`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 2)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      _ = try rig.enqueue(queue, Patient())
      let worker = JobWorker(queue) {
        $0.handle(Patient.self) { _, _ in try await rig.sleep(20) }
        $0.handle(Scan.self) { _, context in
          rig.note("\(context.attempt)")
          _ = try rig.enqueue(queue, Tidy(name: ""))
        }
        $0.handle(Tidy.self) { _, _ in }
      }
      try rig.drain(worker)
      #expect(rig.notes() == ["0 1", "20 1"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  /// It wants more than there was, or there was some between its refusal and its end.
  @Test func `a job that finds too little room in a transaction of its own tries now and then`()
    throws
  {
    try Rig.run { rig in
      let queue = try full(rig, 3)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      _ = try rig.enqueue(queue, Patient())
      let worker = JobWorker(queue) {
        $0.handle(Patient.self) { _, _ in try await rig.sleep(20) }
        $0.handle(Scan.self) { _, context in
          rig.note("\(context.attempt)")
          try rig.write { db in
            for name in ["a", "b"] { try queue.enqueue(Tidy(name: name), in: db) }
          }
        }
        $0.handle(Tidy.self) { _, _ in }
      }
      try rig.live(worker, until: 100)
      #expect(rig.notes() == ["0 1", "1 1", "3 1", "7 1", "15 1", "31 1"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `a job that wants more in one commit than the queue can hold fails, and says so`()
    throws
  {
    try Rig.run { rig in
      let queue = try full(rig, 3)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      _ = try rig.enqueue(queue, Tidy(name: "20"))
      try rig.drain(worker(rig, queue, following: 3), waiting: .seconds(3600))
      // Once beside another, and once alone.
      #expect(rig.notes() == ["0 asks, attempt 1", "20 asks, attempt 1"])
      let record = try rig.record(queue, id)
      #expect(record.state == .failed && record.unreached == 0)
      #expect(record.reason?.contains("more than 3 jobs") == true)
    }
  }

  @Test func `a job that is held for room after its wait is said to wait for room`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 3)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      try rig.write { try queue.pause(Patient.kind, in: $0) }
      let other = try rig.enqueue(queue, Patient())
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Scan.self) { _, _ in
          rig.note("asks")
          try rig.write { db in
            for name in ["a", "b"] { try queue.enqueue(Tidy(name: name), in: db) }
          }
        }
        $0.handle(Patient.self) { _, _ in }
        $0.handle(Tidy.self) { _, _ in }
      }
      try rig.live(worker, until: 10) {
        try await rig.sleep(0.5)
        let wait = try #require(queue.waits(rig.path.path).first { $0.job == id })
        #expect(wait.endsWithTime)
        // Now there is as little as it found.
        let third = try rig.enqueue(queue, Patient())
        try await rig.sleep(5)
        let waits = try queue.waits(rig.path.path).map { ($0.job, $0.reason) }
        #expect(
          Dictionary(uniqueKeysWithValues: waits) == [id: .room, other: .pause, third: .pause])
      }
      #expect(rig.notes() == ["0 asks"])
    }
  }

  @Test func `a worker without a bound passes those who wait for room`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 3)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      try rig.write { try queue.pause(Tidy.kind, in: $0) }
      for _ in 1...2 { _ = try rig.enqueue(queue, Tidy(name: "1")) }
      let worker = worker(rig, queue, concurrency: .max)
      try rig.live(worker, until: 10)
      #expect(try rig.record(queue, id).state == .waiting)
      try rig.write { try queue.resume(Tidy.kind, in: $0) }
      try rig.drain(worker)
      #expect(try rig.record(queue, id).state == .done)
    }
  }

  @Test func `what another queue refuses is no matter of this one's room`() throws {
    try Rig.run { rig in
      let queue = try full(rig, 10)
      let id = try rig.enqueue(queue, Scan(shelf: ""))
      let (place, limits) = (try DatabaseQueue(), rig.limits)
      rig.limits.jobs = 1
      let other = try JobQueue.openBlocking(
        place, limits: rig.limits, environment: rig.environment)
      rig.limits = limits
      let first = try place.write { try other.enqueue(Patient(), in: $0) }
      let worker = JobWorker(queue) {
        $0.handle(Scan.self) { _, context in
          rig.note("\(context.attempt)")
          try await context.step("hand on") {
          } commit: { _ in
            try place.write { _ = try other.enqueue(Patient(), in: $0) }
          }
        }
      }
      try rig.live(worker, until: 20) {
        try await rig.sleep(10)
        try await place.write { _ = try other.remove(first, in: $0) }
      }
      #expect(rig.notes() == ["0 1", "1 1", "3 1", "7 1", "15 1"])
      #expect(try rig.record(queue, id).state == .done)
    }
  }
}
