import Foundation
import GRDB
import Tern
import TernJobs
import TernTesting
import Testing

/// What a harness says of jobs that do not come to their end.
@Suite("Jobs: jobs that do not come to their end in a harness")
struct HarnessWaitTests {
  private typealias App = JobHarnessTests.App

  private func failure(_ body: () throws -> Void) -> JobHarnessError? {
    do {
      try body()
      return nil
    } catch {
      return error as? JobHarnessError
    }
  }

  @Test func `what no time brings is named`() async throws {
    let app = try await App()
    app.startScanning()
    app.harness.network.set(hasRoute: false)
    let (jobs, database) = (app.jobs, app.database)
    let paused = try app.enqueue(Tidy(name: "a"))
    try await database.write { try jobs.pause(Tidy.kind, in: $0) }
    let online = try app.enqueue(Scan(shelf: "1"), requires: .network)
    let error = try #require(failure { try app.harness.drain() })
    #expect(error.code == .stillWaiting)
    #expect(error.waits.map(\.job) == [paused, online])
    #expect(error.waits.map(\.reason) == [.pause, .requirement(.network)])
    #expect(error.description.contains("job 1 (tidy) is paused"))
    #expect(error.description.contains("job 2 (scan) requires a network"))
    app.harness.network.set(hasRoute: true)
    #expect(try app.harness.settle().map(\.job) == [paused])
    #expect(try app.titles() == ["1"])
  }

  @Test func `a gate without an end is named after so many attempts`() async throws {
    let app = try await App()
    app.startScanning { _ in throw JobFailure(.limited(delay: .seconds(60)), "come back later") }
    try app.enqueue(Scan(shelf: "1"))
    let error = try #require(failure { try app.harness.drain(attempts: 20) })
    #expect(error.code == .tooManyAttempts)
    #expect(app.taken().filter { $0.contains("ask") }.count == 20)
    #expect(error.waits.count == 1)
    let late = try #require(failure { try app.harness.drain(within: .seconds(300)) })
    #expect(late.code == .tooLong)
    guard case .gate("recogniser", _)? = late.waits.first?.reason else {
      Issue.record("\(late)")
      return
    }
    #expect(late.waits[0].failure == "come back later")
  }

  @Test func `GRDB's own threads are waited for while time stands still`() async throws {
    let app = try await App()
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { job, context in
        let database = app.database
        // The timer of the step is no reason to let its time pass.
        let count = try await context.step("count", within: .seconds(5)) {
          try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM book") ?? -1 }
        }
        app.note("\(count)")
      }
    }
    for shelf in 1...5 { try app.enqueue(Scan(shelf: "\(shelf)")) }
    try app.harness.drain()
    #expect(app.taken() == Array(repeating: "0 0", count: 5))
  }

  private struct TimedOut: Error {}

  /// As an app has it.
  private func within<T: Sendable>(
    _ limit: Duration, _ clock: any Clock<Duration>,
    _ work: @escaping @Sendable () async throws -> T
  ) async throws -> T? {
    try await withThrowingTaskGroup(of: T.self) { group in
      group.addTask(operation: work)
      group.addTask {
        try await clock.sleep(for: limit)
        throw TimedOut()
      }
      defer { group.cancelAll() }
      return try await group.next()
    }
  }

  @Test func `a timer does not come before what it surrounds, and does when that is silent`()
    async throws
  {
    let app = try await App()
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { _, context in
        let clock = app.clock
        let isSilent = context.attempt == 1
        do {
          _ = try await within(.seconds(5), clock.asTimer) {
            if isSilent { try await clock.silence() }
            await withCheckedContinuation { continuation in
              // real time: an answer from outside, which no virtual clock holds up.
              DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) {
                continuation.resume()
              }
            }
          }
          app.note("answer")
        } catch {
          app.note("\(type(of: error))")
          throw error
        }
      }
    }
    try app.enqueue(Scan(shelf: "1"))
    try app.harness.drain()
    #expect(app.taken() == ["5 TimedOut", "6 answer"])
  }

  @Test(arguments: [true, false])
  func `a job that reaches nobody for an hour is waited for`(_ hasRoute: Bool) async throws {
    let app = try await App()
    app.harness.network.set(hasRoute: hasRoute)
    app.startScanning { app in
      if app.clock.now.offset < .seconds(3600) { throw JobFailure(.unreachable, "no answer") }
    }
    try app.enqueue(Scan(shelf: "1"))
    // Something else that time brings: for a network alone nobody waits.
    try app.enqueue(Scan(shelf: "2"), after: .seconds(7200))
    try app.harness.drain(attempts: 20)
    #expect(try app.titles() == ["1", "2"])
    #expect(app.taken().count > 100)
  }

  @Test func `a harness that is let go says whose handler it leaves behind`() async {
    let result = await #expect(
      processExitsWith: .success, observing: [\.standardErrorContent]
    ) {
      let app = try await App(outsideSeconds: 1)
      app.harness.start(app.jobs) {
        $0.handle(Scan.self) { _, _ in
          // real time: the process ends before that, and nothing else ends it.
          await Task.detached { try? await Task.sleep(for: .seconds(60)) }.value
        }
      }
      try app.enqueue(Scan(shelf: "1"))
      // It is the end of the harness that is to tell.
      try? app.harness.drain()
    }
    let told = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(told.contains("a JobHarness was let go") && told.contains("job 1 (scan)"))
  }

  @Test func `a handler that waits for what nobody brings is named`() async throws {
    let app = try await App(outsideSeconds: 1)
    let (stream, _) = AsyncStream.makeStream(of: Void.self)
    app.startScanning { _ in for await _ in stream {} }
    try app.enqueue(Scan(shelf: "1"))
    let error = try #require(failure { try app.harness.drain() })
    #expect(error.code == .waitsOutside)
    #expect(error.description.contains("job 1 (scan)"))
    #expect(error.waits.map(\.reason) == [.attempt])
  }

  @Test func `a job may wait for what another brings in virtual time`() async throws {
    let app = try await App()
    let (stream, news) = AsyncStream.makeStream(of: Void.self)
    app.harness.start(app.jobs) { [unowned app] in
      $0.handle(Scan.self) { job, _ in
        let clock = app.clock
        if job.shelf == "1" {
          try await clock.sleep(for: .seconds(5))
          news.finish()
        } else {
          await clock.whileTimePasses { for await _ in stream {} }
        }
        app.note(job.shelf)
      }
    }
    for shelf in 1...2 { try app.enqueue(Scan(shelf: "\(shelf)")) }
    try app.harness.drain()
    #expect(app.taken().sorted() == ["5 1", "5 2"])
  }

  @Test func `a failure that never comes is in what is planned`() async throws {
    let app = try await App()
    app.startScanning()
    app.harness.fail(Scan.self, at: .work("misspelt"), with: JobFailure(.failed, "busy"))
    try app.enqueue(Scan(shelf: "1"))
    try app.harness.drain()
    #expect(app.harness.planned.count == 1)
    #expect(app.harness.planned.first?.contains("misspelt") == true)
  }

  @Test func `a job that waits for room is named, and no time is spent on it`() async throws {
    let harness = JobHarness()
    let database = try DatabaseQueue()
    var limits = JobLimits()
    (limits.jobs, limits.followUps) = (2, 0)
    let jobs = try await JobQueue.open(
      database, limits: limits, environment: harness.environment)
    harness.start(jobs) {
      $0.handle(Tidy.self) { job, context in
        try await context.step("end") {
        } commit: { db in
          try jobs.enqueue(Tidy(name: "next"), in: db)
        }
      }
    }
    try await database.write { db in
      _ = try jobs.enqueue(Tidy(name: "a"), in: db)
      // Nobody has a handler for it: it is parked, and has not ended.
      _ = try jobs.enqueue(Scan(shelf: "1"), in: db)
    }
    let waits = try harness.settle()
    #expect(waits.map { $0.description.contains("job 1 (tidy) waits for room") } == [true])
    #expect(waits.first?.failure?.contains("holds 2 jobs") == true)
    #expect(harness.clock.now.offset == .zero)
    #expect(failure { try harness.drain() }?.code == .stillWaiting)
  }
}
