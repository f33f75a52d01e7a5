import GRDB
import GRDBSQLite
import Tern
import TernJobs
import Testing

/// What decides when a job starts beside its service: priority, delay, pauses.
@Suite("Decision: priorities, delays and pauses")
struct PriorityTests {
  private func tidying(_ queue: JobQueue, _ rig: Rig, at once: Int = 1) -> JobWorker {
    JobWorker(queue, concurrency: once) {
      $0.handle(Tidy.self) { job, _ in
        rig.note(job.name)
        try await rig.sleep(1)
      }
      $0.handle(Scan.self) { job, _ in rig.note("scan \(job.shelf)") }
    }
  }

  @Test func `INV-09: the greatest priority goes first, and equals in the order of readiness`()
    throws
  {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        for (name, priority) in [("a", 0), ("b", Int.min), ("c", Int.max), ("d", .max), ("e", 0)] {
          try queue.enqueue(Tidy(name: name), priority: priority, in: db)
        }
        try queue.enqueue(Scan(shelf: "s"), priority: 1, in: db)
      }
      try rig.drain(tidying(queue, rig))
      #expect(rig.notes() == ["0 c", "1 d", "2 scan s", "2 a", "3 e", "4 b"])
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `INV-09: a delayed job starts at its time, also after a restart`(_ kind: DatabaseKind) throws
  {
    try Rig.run(kind) { rig in
      let queue = try rig.open()
      try rig.write { db in
        try queue.enqueue(Tidy(name: "late"), priority: 9, after: .seconds(60), in: db)
        try queue.enqueue(Tidy(name: "soon"), after: .milliseconds(2500), in: db)
        try queue.enqueue(Tidy(name: "now"), after: .seconds(-5), in: db)
      }
      try rig.drain(tidying(queue, rig))
      #expect(rig.notes() == ["0 now"])
      try rig.live(tidying(queue, rig), until: 10)
      #expect(rig.notes() == ["2.5 soon"])
      try rig.live(tidying(try rig.open(), rig), until: 70)
      #expect(rig.notes() == ["60 late"])
    }
  }

  @Test func `INV-09: the clock is set back, and a delay is not longer for it`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.write { try queue.enqueue(Tidy(name: "late"), after: .seconds(60), in: $0) }
      rig.skew.withLock { $0 = .seconds(-1_000) }
      try rig.live(tidying(queue, rig), until: 100)
      #expect(rig.notes() == ["60 late"])
    }
  }

  @Test func `delayed jobs are not looked at until their time comes`() throws {
    /// - Parameter index: is taken away.
    func steps(among count: Int, without index: String? = nil) throws -> Int {
      try stepsTaken { queue, db in
        for number in 0..<count {
          // They would stand before the others.
          try queue.enqueue(
            Tidy(name: "\(number)"), priority: 1, after: .seconds(1000), in: db)
        }
        if let index { try db.execute(sql: "DROP INDEX grdb_tern_job\(index)") }
      }
    }
    let few = try steps(among: 10)
    let many = try steps(among: 2000)
    #expect(abs(many - few) < 10, "\(few) became \(many)")
    // That they were looked at would be seen.
    for index in ["later", "due"] {
      #expect(try steps(among: 2000, without: index) > few + 2000, "without \(index)")
    }
  }

  @Test func `a claim reads no more where many wait than where few do`() throws {
    func steps(among count: Int) throws -> Int {
      try stepsTaken { queue, db in
        for number in 0..<count {
          for lane in ["a", "b"] {
            try queue.enqueue(Tidy(name: "\(number)"), priority: -1, lane: lane, in: db)
          }
        }
      }
    }
    let few = try steps(among: 10)
    let many = try steps(among: 1000)
    #expect(many < few * 2, "\(few) became \(many)")
  }

  /// What a worker takes of SQLite's machine, in its steps, to run eight jobs beside others that
  /// do not end: from the first claim on, since before that it mends the times of all.
  private func stepsTaken(beside others: (JobQueue, Database) throws -> Void) throws -> Int {
    // The test's one thread alone has it.
    nonisolated(unsafe) let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    count.initialize(to: 0)
    defer { count.deallocate() }
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try others(queue, db)
        for number in 0..<8 { try queue.enqueue(Tidy(name: "x\(number)"), in: db) }
      }
      let worker = JobWorker(queue, concurrency: 1) {
        $0.handle(Tidy.self) { job, _ in
          if job.name == "x0" { count.pointee = 0 }
          if job.name.hasPrefix("x") { rig.note(job.name) } else { try await rig.sleep(1000) }
        }
      }
      rig.database.writeWithoutTransaction { db in
        sqlite3_progress_handler(
          db.sqliteConnection, 1,
          { count in
            count!.assumingMemoryBound(to: Int.self).pointee += 1
            return 0
          }, count)
      }
      try rig.live(worker, until: 1)
      rig.database.writeWithoutTransaction {
        sqlite3_progress_handler($0.sqliteConnection, 0, nil, nil)
      }
      #expect(rig.notes().count == 8)
    }
    return count.pointee
  }

  @Test func `a kind, and the whole queue, are paused over restarts and resumed`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      try rig.write { db in
        try queue.pause("tidy", in: db)
        try queue.pause("tidy", in: db)
        try queue.enqueue(Tidy(name: "a"), in: db)
        try queue.enqueue(Tidy(name: "b"), after: .seconds(2), in: db)
        try queue.enqueue(Scan(shelf: "s"), in: db)
      }
      // Nor does `drain` wait for what is paused.
      try rig.drain(tidying(queue, rig), waiting: .seconds(100))
      #expect(rig.notes() == ["0 scan s"])
      #expect(try rig.database.read(queue.pauses) == JobPauses(kinds: ["tidy"]))
      // The scan is done.
      #expect(try rig.database.read(queue.records).map(\.isPaused) == [true, true, false])
      try rig.write { db in
        try queue.pause(in: db)
        try queue.resume("tidy", in: db)
        try queue.enqueue(Scan(shelf: "t"), in: db)
      }
      let isHeld = "SELECT DISTINCT is_paused FROM grdb_tern_jobs WHERE state = 'waiting'"
      #expect(try rig.database.read { try Bool.fetchAll($0, sql: isHeld) } == [true])
      try rig.perform {
        try await tidying(try rig.open(), rig).run {
          try await rig.sleep(5)
          // Also outside of a transaction.
          try rig.resume(queue)
          try await rig.sleep(5)
        }
      }
      #expect(rig.notes() == ["5 a", "6 scan t", "6 b"])
    }
  }
}

extension Rig {
  fileprivate func resume(_ queue: JobQueue) throws {
    try database.writeWithoutTransaction { try queue.resume(in: $0) }
  }
}
