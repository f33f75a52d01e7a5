import GRDB
import Tern
import TernJobs
import Testing

/// A network that comes and goes may cost a service no more than one that changed.
@Suite("Worker: a network that comes and goes")
struct FlappingPathTests {
  /// How often a service that is down is asked by each second of some.
  private func asked(_ rig: Rig, at seconds: [Double], flaps: Int) throws -> [Int] {
    rig.retryBudget = JobRate(1, per: .seconds(1000), burst: 3)
    let queue = try rig.open()
    for number in 0..<40 { _ = try rig.enqueue(queue, Scan(shelf: "\(number)")) }
    let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
      $0.handle(Scan.self) { _, _ in
        rig.note("asked")
        throw Failure(.failed)
      }
    }
    var counts: [Int] = []
    try rig.live(
      worker, until: seconds.last!,
      while: {
        for _ in 0..<flaps {
          try await rig.sleep(2)
          rig.path.set(hasRoute: false)
          rig.path.set(hasRoute: true)
        }
      })
    let notes = rig.notes().map { Double($0.split(separator: " ")[0])! }
    for second in seconds { counts.append(notes.count { $0 < second }) }
    return counts
  }

  /// INV-09: three at first, three as the network is another, and three a minute after that.
  @Test func `budgets are restored once a minute, and once more after the last change`() throws {
    try Rig.run { rig in
      let counts = try asked(rig, at: [1, 3, 61, 65, 300], flaps: 10)
      #expect(counts == [3, 6, 6, 9, 9])
    }
  }

  @Test func `one change restores them once`() throws {
    try Rig.run { rig in
      let counts = try asked(rig, at: [1, 3, 300], flaps: 1)
      #expect(counts == [3, 6, 6])
    }
  }

  @Test func `when they were restored is stored`() throws {
    try Rig.run { rig in
      let counts = try asked(rig, at: [1, 3, 10], flaps: 1)
      #expect(counts == [3, 6, 6])
      // Another life of the process.
      let queue = try rig.open()
      let worker = JobWorker(queue, concurrency: 1, path: rig.path) {
        $0.handle(Scan.self) { _, _ in
          rig.note("asked")
          throw Failure(.failed)
        }
      }
      try rig.live(
        worker, until: 100,
        while: {
          try await rig.sleep(5)
          rig.path.set(hasRoute: true)
        })
      #expect(rig.notes() == ["62 asked", "62 asked", "62 asked"])
    }
  }

  /// Runs jobs that reached nobody over a network that changes.
  private func wake(
    _ rig: Rig, _ jobs: [(name: String, priority: Int)], changes: [Double]
  ) throws -> [String] {
    rig.path.set(hasRoute: false)
    let queue = try rig.open()
    try rig.write { db in
      for job in jobs { try queue.enqueue(Tidy(name: job.name), priority: job.priority, in: db) }
    }
    let worker = JobWorker(queue, path: rig.path) {
      $0.handle(Tidy.self) { job, _ in
        if !rig.path.path.hasRoute { throw Failure(.unreachable) }
        rig.note(job.name)
      }
    }
    try rig.live(
      worker, until: 59,
      while: {
        for second in changes {
          try await rig.sleep(second - rig.seconds)
          rig.path.set(hasRoute: true)
        }
      })
    return rig.notes()
  }

  @Test(arguments: [(0.0, 10.0), (0.5, 25), (1, 40)])
  func `another network wakes what is urgent at once, and the rest within half a minute`(
    draw: Double, second: Double
  ) throws {
    try Rig.run { rig in
      rig.draw = draw
      let notes = try wake(rig, [("later", 0), ("urgent", 1), ("idle", -1)], changes: [10])
      let rest = second.formatted(.number.precision(.fractionLength(0)))
      #expect(notes.sorted() == ["10 urgent", "\(rest) idle", "\(rest) later"].sorted())
    }
  }

  @Test func `further changes hurry nobody who waits to be woken`() throws {
    try Rig.run { rig in
      let notes = try wake(rig, [("later", 0)], changes: [10, 12, 14, 30, 39])
      #expect(notes == ["40 later"])
    }
  }

  @Test func `who waits for less than that is not kept`() throws {
    try Rig.run { rig in
      let queue = try rig.open()
      _ = try rig.enqueue(queue, Tidy(name: "a"))
      let worker = JobWorker(queue, path: rig.path) {
        $0.handle(Tidy.self) { _, context in
          rig.note("\(context.start)")
          if context.start < 4 { throw Failure(.unreachable) }
        }
      }
      try rig.live(
        worker, until: 50,
        while: {
          try await rig.sleep(4)
          rig.path.set(hasRoute: true)
        })
      #expect(rig.notes() == ["0 1", "1 2", "3 3", "7 4"])
    }
  }
}
