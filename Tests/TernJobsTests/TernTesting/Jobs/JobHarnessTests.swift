import Foundation
import GRDB
import Synchronization
import Tern
import TernJobs
import TernTesting
import Testing

/// A service that never answers.
private func silent(_ clock: VirtualClock) async throws -> String { try await clock.silence() }

/// What an app's tests may rely on.
@Suite("Jobs: the harness that apps test with")
struct JobHarnessTests {
  /// An app over a database in memory, and what happened in it.
  final class App: Sendable {
    let harness: JobHarness
    let database: DatabaseQueue
    let jobs: JobQueue
    let clock: VirtualClock
    private let notes = Mutex<[String]>([])

    init(seed: UInt64 = 1, outsideSeconds: Int = 10) async throws {
      harness = JobHarness(seed: seed, outsideSeconds: outsideSeconds)
      clock = harness.clock
      database = try DatabaseQueue()
      jobs = try await JobQueue.open(database, environment: harness.environment)
      try await database.write { try $0.execute(sql: "CREATE TABLE book (title TEXT NOT NULL)") }
    }

    func note(_ text: String) {
      let seconds = clock.now.offset.components.seconds
      notes.withLock { $0.append("\(seconds) \(text)") }
    }

    func taken() -> [String] {
      notes.withLock { notes in
        defer { notes = [] }
        return notes
      }
    }

    @discardableResult
    func enqueue(
      _ job: some Job, after delay: Duration = .zero,
      requires requirement: JobRequirement = .nothing
    ) throws -> JobID {
      try database.write { try jobs.enqueue(job, after: delay, requires: requirement, in: $0) }
    }

    func add(_ title: String) throws {
      try database.write {
        try $0.execute(sql: "INSERT INTO book VALUES (?)", arguments: [title])
      }
    }

    func titles() throws -> [String] {
      try database.read { try String.fetchAll($0, sql: "SELECT title FROM book ORDER BY rowid") }
    }

    func state(_ id: JobID) throws -> JobState? {
      try database.read { try jobs.record(id, in: $0)?.state }
    }

    /// A handler of one step that writes a row.
    func startScanning(_ work: @escaping @Sendable (App) async throws -> Void = { _ in }) {
      harness.start(jobs) { [unowned self] in
        $0.handle(Scan.self) { job, context in
          self.note("scan \(job.shelf)")
          try await context.step("ask") {
            self.note("ask \(job.shelf)")
            try await work(self)
          } commit: { db in
            try db.execute(sql: "INSERT INTO book VALUES (?)", arguments: [job.shelf])
          }
        }
      }
    }
  }

  // MARK: - Time

  @Test func `a drain goes through retries, gates and delays of days at once`() async throws {
    let app = try await App()
    app.startScanning { app in
      if app.clock.now.offset < .seconds(1) { throw JobFailure(.failed, "busy") }
      if app.clock.now.offset < .seconds(10) {
        throw JobFailure(.limited(delay: .seconds(7200)), "later")
      }
    }
    try app.enqueue(Scan(shelf: "1"))
    try app.enqueue(Scan(shelf: "2"), after: .seconds(20 * 86_400))
    try app.harness.drain()
    #expect(try app.titles() == ["1", "2"])
    #expect(
      app.taken().filter { $0.contains("ask") }
        == ["0 ask 1", "1 ask 1", "7201 ask 1", "1728000 ask 2"])
  }

  @Test func `time passes as far as it is told, and what runs goes on later`() async throws {
    let app = try await App()
    app.startScanning { try await $0.clock.sleep(for: .seconds(60)) }
    let id = try app.enqueue(Scan(shelf: "1"))
    try app.harness.advance(by: .seconds(59))
    #expect(try app.state(id) == .running)
    #expect(app.clock.now.offset == .seconds(59))
    try app.harness.advance(by: .seconds(1))
    #expect(try app.state(id) == .done)
    #expect(app.taken() == ["0 scan 1", "0 ask 1"])
  }

  @Test func `the same seed makes the same run, and another seed another`() async throws {
    func run(_ seed: UInt64) async throws -> [String] {
      let app = try await App(seed: seed)
      app.startScanning { app in
        for _ in 0..<3 { await Task.yield() }
        app.note("answer")
      }
      for shelf in 1...8 { try app.enqueue(Scan(shelf: "\(shelf)")) }
      try app.harness.drain()
      return app.taken() + (try app.titles())
    }
    let first = try await run(1)
    #expect(try await run(1) == first)
    var others: Set<[String]> = []
    for seed in 2...5 { others.insert(try await run(UInt64(seed))) }
    #expect(others != [first])
  }

  @Test func `what the test does beside the worker is in the same time`() async throws {
    let app = try await App()
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { _, context in
        app.note(String(decoding: try Data(contentsOf: context.file("photo")), as: UTF8.self))
      }
    }
    let (jobs, clock) = (app.jobs, app.clock)
    let photo = try app.harness.perform {
      try await clock.sleep(for: .seconds(3))
      return try await jobs.attach(Data("page".utf8), as: "photo")
    }
    try await app.database.write { db in
      _ = try jobs.enqueue(Scan(shelf: "1"), files: [photo], in: db)
    }
    try app.harness.drain()
    #expect(app.taken() == ["3 page"])
  }

  @Test func `the test attaches a file by itself, and a handler in the harness's time`()
    async throws
  {
    let app = try await App()
    let jobs = app.jobs
    app.harness.start(jobs) { [unowned app] in
      $0.handle(Scan.self) { _, context in
        try await app.clock.sleep(for: .seconds(2))
        let copy = try await jobs.attach(copyOf: context.file("photo"), as: "copy")
        app.note(copy.name)
      }
    }
    let photo = try await jobs.attach(Data("page".utf8), as: "photo")
    try await app.database.write { db in
      _ = try jobs.enqueue(Scan(shelf: "1"), files: [photo], in: db)
    }
    try app.harness.drain()
    #expect(app.taken() == ["2 copy"])
  }

  // MARK: - What goes wrong

  @Test func `a failure happens where and as often as it is planned`() async throws {
    let app = try await App()
    app.startScanning()
    app.harness.fail(Scan.self, at: .work("ask"), with: JobFailure(.failed, "busy"), times: 2)
    app.harness.fail(Scan.self, at: .commit("ask"), with: JobFailure(.failed, "refused"))
    let id = try app.enqueue(Scan(shelf: "1"))
    #expect(app.harness.planned.count == 2)
    try app.harness.advance(by: .seconds(3))
    let story = try await app.database.read {
      try app.jobs.failedAttempts(of: id, in: $0).map(\.reason)
    }
    #expect(story == ["busy", "busy", "refused"])
    #expect(try app.titles().isEmpty)
    try app.harness.drain()
    #expect(app.harness.planned.isEmpty)
    #expect(app.taken() == ["0 scan 1", "1 scan 1", "3 scan 1", "3 ask 1", "7 scan 1", "7 ask 1"])
    #expect(try app.titles() == ["1"])
  }

  @Test(arguments: [
    (JobPoint.start, 1), (.work("ask"), 1), (.answer("ask"), 2), (.commit("ask"), 2),
    (.committed("ask"), 1), (.end, 1),
  ])
  func `a crash at each point costs no attempt and writes rows once`(
    _ point: JobPoint, _ asked: Int
  ) async throws {
    let app = try await App()
    app.startScanning()
    app.harness.crash(Scan.self, at: point)
    let id = try app.enqueue(Scan(shelf: "1"))
    try app.harness.drain()
    #expect(app.harness.planned.isEmpty)
    #expect(try app.titles() == ["1"])
    #expect(app.taken().filter { $0.contains("ask") }.count == asked)
    let record = try #require(try await app.database.read { try app.jobs.record(id, in: $0) })
    #expect((record.starts, record.failures) == (2, 0))
  }

  @Test func `nothing of a dead process is written, neither a worker's nor an app's`() async throws
  {
    let app = try await App()
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { job, context in
        app.note(job.shelf)
        do {
          try await app.clock.sleep(for: .seconds(60))
        } catch {
          try app.add("too late")
        }
      }
    }
    let id = try app.enqueue(Scan(shelf: "1"))
    try app.harness.advance(by: .seconds(10))
    try app.harness.crash()
    // As the dead left it.
    #expect(try app.state(id) == .running)
    try app.harness.drain()
    #expect(app.taken() == ["0 1", "10 1"])
    #expect(try app.titles().isEmpty)
    let deaths = try await app.database.read { try app.jobs.failedAttempts(of: id, in: $0) }
    #expect(deaths.isEmpty, "it is done, and keeps no story")
  }

  @Test func `an app that quits leaves its jobs to the next launch`() async throws {
    let app = try await App()
    app.startScanning { try await $0.clock.sleep(for: .seconds(60)) }
    let id = try app.enqueue(Scan(shelf: "1"))
    try app.harness.advance(by: .seconds(10))
    try app.harness.stop()
    #expect(try app.state(id) == .waiting)
    app.startScanning()
    try app.harness.drain()
    #expect(try app.titles() == ["1"])
  }

  @Test func `a service that never answers is cut off by its step's limit`() async throws {
    let app = try await App()
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { job, context in
        app.note("ask")
        if context.attempt == 1 {
          let clock = app.clock
          _ = try await context.step("ask", within: .seconds(20)) { try await silent(clock) }
        }
      }
    }
    try app.enqueue(Scan(shelf: "1"))
    try app.harness.drain()
    #expect(app.taken() == ["0 ask", "21 ask"])
  }
}
