import Synchronization
import Tern
import TernJobs

extension JobHarness {
  /// Something that runs on the executor, and what became of it.
  final class Run<T: Sendable>: Sendable {
    private let task: Task<T, any Error>
    private let ended = Mutex<Result<T, any Error>?>(nil)

    init(_ executor: SeededExecutor, _ body: @escaping @Sendable () async throws -> T) {
      // Of the test's own: the harness drives it, and sees to its end.
      task = Task(executorPreference: executor, operation: body)
      _ = Task(executorPreference: executor, operation: watch)
    }

    @Sendable private func watch() async {
      let result = await task.result
      ended.withLock { $0 = result }
    }

    var result: Result<T, any Error>? { ended.withLock { $0 } }

    func cancel() { task.cancel() }
  }

  func run(_ worker: JobWorker) -> Run<Void> {
    Run(executor) { try await worker.run() }
  }

  // MARK: - Going on

  /// Runs all that can run, and lets time pass for as long as a job waits for nothing else, until
  /// everything is done, failed or parked.
  ///
  /// - Parameters:
  ///   - time: how much virtual time may pass.
  ///   - limit: how many attempts may begin, beside those that reach nobody: these wait for up to
  ///     a minute each.
  /// - Throws: ``JobHarnessError`` `.stillWaiting`, which names the jobs that are paused or wait
  ///   for a network; else as ``settle(within:attempts:)``.
  public func drain(within time: Duration = .seconds(30 * 86_400), attempts limit: Int = 1000)
    throws
  {
    let waits = try settle(within: time, attempts: limit)
    guard waits.isEmpty else {
      throw JobHarnessError(
        code: .stillWaiting,
        message: "no time brings what \(waits.count) jobs wait for; `settle` takes that as it is",
        waits: waits)
    }
  }

  /// ``drain(within:attempts:)`` that takes jobs as they are that wait for what no time brings.
  ///
  /// - Returns: these jobs, and what they wait for.
  /// - Throws: ``JobHarnessError`` `.tooLong`, `.tooManyAttempts` and `.waitsOutside`; what ended
  ///   the worker, a `DatabaseError` for example.
  @discardableResult
  public func settle(
    within time: Duration = .seconds(30 * 86_400), attempts limit: Int = 1000
  ) throws -> [JobWait] {
    let life = started()
    let end = clock.now.advanced(by: time)
    let bound = attempts.bound(limit)
    try lookAgain(life)
    while true {
      try runReady(attempts: bound)
      let waits = try life.jobs.waits(network.path)
      guard !attempts.activities.isEmpty || waits.contains(where: \.endsWithTime) else {
        return waits
      }
      guard clock.advance(notBeyond: end) else {
        throw try error(.tooLong, "jobs are not done within \(time) of virtual time")
      }
    }
  }

  /// Lets some time pass, and all that is due within it run.
  ///
  /// - Throws: as ``settle(within:attempts:)``.
  public func advance(by time: Duration, attempts limit: Int = 1000) throws {
    let end = clock.now.advanced(by: time)
    let bound = attempts.bound(limit)
    try lookAgain(started())
    repeat { try runReady(attempts: bound) } while clock.advance(notBeyond: end)
    clock.pass(to: end)
  }

  /// Runs something of the test's own in the harness's time, beside the worker: what sleeps on
  /// ``clock``, or drains another worker.
  ///
  /// - Throws: what `body` throws, and as ``settle(within:attempts:)``.
  public func perform<T: Sendable>(
    within time: Duration = .seconds(30 * 86_400), attempts limit: Int = 1000,
    _ body: @escaping @Sendable () async throws -> T
  ) throws -> T {
    let (attempts, bound) = (attempts, attempts.bound(limit))
    let end = clock.now.advanced(by: time)
    let run = Run(executor) { try await attempts.during("what the test performs", body) }
    defer { run.cancel() }
    while true {
      try runReady(attempts: bound)
      if let result = run.result { return try result.get() }
      guard clock.advance(notBeyond: end) else {
        throw try error(
          .waitsOutside,
          "what the test performs waits for what nothing brings within \(time) of virtual time")
      }
    }
  }

  private func started() -> Life {
    guard let life = life.withLock({ $0 }) else {
      preconditionFailure("the harness has no worker; start one first")
    }
    return life
  }

  /// What another connection wrote, or a clock that was set, is seen at once.
  private func lookAgain(_ life: Life) throws {
    try life.jobs.database.write { try life.jobs.announce(in: $0) }
  }

  // MARK: - Without time

  /// Until nothing is ready, and everything that is under way waits for time.
  private func runReady(attempts bound: Int) throws {
    while true {
      if attempts.isDead { try launchAgain() }
      if attempts.begun > bound {
        throw try error(.tooManyAttempts, "more attempts began than were allowed")
      }
      if executor.runNext() { continue }
      if attempts.activities.allSatisfy(\.isAsleep) { break }
      try awaitOutside()
    }
    // A worker ends by itself only where it cannot go on.
    if let result = life.withLock({ $0?.run.result }) { try result.get() }
  }

  /// What a process that died leaves to the next one is the database.
  func launchAgain() throws {
    var life = started()
    try unwind(life.run)
    attempts.revive()
    life.jobs.forgetLife()
    life.run = run(life.makeWorker())
    let next = life
    self.life.withLock { $0 = next }
  }

  /// Cancels a worker and runs it to its end.
  func unwind(_ run: Run<Void>) throws {
    run.cancel()
    for _ in 0..<Self.unwindLimit where run.result == nil {
      if !executor.runNext() { try awaitOutside() }
    }
    if run.result == nil {
      throw try error(.waitsOutside, "a handler goes on and on although it was cancelled")
    }
  }

  /// Many times the parts that any worker needs to end.
  private static let unwindLimit = 1_000_000

  private func awaitOutside() throws {
    if executor.awaitNext(.seconds(outsideSeconds)) { return }
    let names = attempts.activities.filter { !$0.isAsleep }.map(\.name).joined(separator: ", ")
    throw try error(
      .waitsOutside,
      "\(names): waited \(outsideSeconds) real seconds for something that is neither ready nor sleeps on "
        + "the harness's clock; a fake service that never answers awaits `clock.silence()`, and what "
        + "another job brings is awaited in `clock.whileTimePasses`")
  }

  private func error(_ code: JobHarnessError.Code, _ message: String) throws -> JobHarnessError {
    let waits = try life.withLock { $0?.jobs }?.waits(network.path)
    return JobHarnessError(code: code, message: message, waits: waits ?? [])
  }
}
