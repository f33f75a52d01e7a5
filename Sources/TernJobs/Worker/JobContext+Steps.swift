import GRDB
import TernCore

extension JobContext {
  /// Does a part of the job once: when it was done in an earlier attempt, its stored result is
  /// returned and nothing is done again.
  ///
  /// The result and all that `commit` writes are one transaction: either both are there or `work`
  /// runs again. `work` itself can have run before, up to the moment before that commit; what it
  /// does to others must bear a repetition, by an ``idempotencyKey(_:)`` for example.
  ///
  /// A step is a checkpoint: failures before it are forgotten.
  ///
  /// - Parameters:
  ///   - name: tells the step from the job's other ones, for ever. Two of the same name at the same
  ///     time are refused.
  ///   - commit: runs in the transaction; again, if another process was in its way or the app
  ///     suspended the database meanwhile, without `work`. Swift finds the result's type.
  /// - Throws: what `work` and `commit` throw, with nothing written; ``JobQueueError``
  ///   `.duplicateStep`, `.checkpointTooLarge`, `.tooManyCheckpoints`, `.notRunning` and
  ///   `.unreadable`; `DatabaseError`.
  public func step<R: Codable & Sendable>(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> R,
    commit: @Sendable (Database, R) throws -> Void = { _, _ in }
  ) async throws -> R {
    try await step(name, isolation: isolation, { _ in try await work() }, commit: commit)
  }

  /// A step whose work is cancelled when it takes too long. That counts as an attempt unless the
  /// network was away or changed meanwhile. Its time holds in place of ``Job/attemptLimit``, where
  /// it is longer.
  ///
  /// - Parameter limit: by the clock of the queue's environment; work that does not heed its
  ///   cancellation is waited for all the same.
  /// - Throws: as the first, and ``JobFailure`` when the time is over.
  public func step<R: Codable & Sendable>(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable () async throws -> R,
    commit: @Sendable (Database, R) throws -> Void = { _, _ in }
  ) async throws -> R {
    try await step(
      name, within: limit, isolation: isolation, { _ in try await work() }, commit: commit)
  }

  /// A step whose only result is that it was done.
  ///
  /// - Throws: as the first.
  public func step(
    _ name: String, isolation: isolated (any Actor)? = #isolation, _ work: () async throws -> Void,
    commit: @Sendable (Database) throws -> Void = { _ in }
  ) async throws {
    _ = try await step(
      name, isolation: isolation,
      { _ in
        try await work()
        return true
      }, commit: { db, _ in try commit(db) })
  }

  /// The same with a limit on its time.
  ///
  /// - Throws: as the first with a limit.
  public func step(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable () async throws -> Void,
    commit: @Sendable (Database) throws -> Void = { _ in }
  ) async throws {
    _ = try await step(
      name, within: limit, isolation: isolation,
      { _ in
        try await work()
        return true
      }, commit: { db, _ in try commit(db) })
  }

  /// A step that makes files for later ones, or gives up those that no later one needs.
  ///
  /// ```swift
  /// let text = try await context.step("recognise") { files in
  ///   let text = try await recognise(context.file("photo"), crop: files.create("crop"))
  ///   files.release("photo")
  ///   return text
  /// }
  /// ```
  ///
  /// What stands at a created file's place when `work` returns is synced and is the job's from the
  /// commit on; what is released is removed after it.
  ///
  /// - Throws: as the first, and ``JobQueueError`` `.noSuchFile` when nothing stands at a created
  ///   file's place or one is released that the job does not have, `.fileTooLarge`,
  ///   `.tooManyFiles`, `.diskFull`, `.fileFailed`.
  public func step<R: Codable & Sendable>(
    _ name: String, isolation: isolated (any Actor)? = #isolation,
    _ work: (StepFiles) async throws -> R,
    commit: @Sendable (Database, R) throws -> Void = { _, _ in }
  ) async throws -> R {
    guard attempted.begin(step: name) else { throw JobQueueError.duplicateStep(name, of: id) }
    defer { attempted.end(step: name) }
    if let stored = try await worker.checkpoint(.step, name, of: claim) {
      return try JobCoding.decode(R.self, stored, of: name)
    }
    let made = StepFiles(folder: worker.queue.folder)
    attempted.note(refusal: nil)
    try AttemptPoint.reach(.work(name))
    let result: R
    do {
      result = try await work(made)
    } catch {
      guard Planted.isActive(.workRepeated) else { throw error }
      result = try await work(made)
    }
    try AttemptPoint.reach(.answer(name))
    let content = try JobCoding.encode(result)
    try await worker.queue.settle(made)
    let step = CheckpointCommit(
      claim: claim, kind: .step, name: name, content: content, files: made)
    try await worker.commit(step, of: attempted) { db in try commit(db, result) }
    return result
  }

  /// The same with a limit on its time.
  ///
  /// - Throws: as the first with files, and ``JobFailure`` when the time is over.
  public func step<R: Codable & Sendable>(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable (StepFiles) async throws -> R,
    commit: @Sendable (Database, R) throws -> Void = { _, _ in }
  ) async throws -> R {
    let environment = worker.queue.environment
    return try await step(
      name, isolation: isolation,
      { files in
        await worker.allow(limit, for: claim)
        return try await withThrowingTaskGroup(of: R.self) { group in
          group.addTask { try await work(files) }
          group.addTask {
            try await AttemptPoint.$isTimer.withValue(true) {
              try await environment.sleep(for: limit)
            }
            throw JobFailure(
              .interrupted(isLocal: false), "the step “\(name)” took longer than \(limit)")
          }
          defer { group.cancelAll() }
          return try await group.next()!
        }
      }, commit: commit)
  }

  /// A step whose only result is that its files were made, or given up.
  ///
  /// - Throws: as the first with files.
  public func step(
    _ name: String, isolation: isolated (any Actor)? = #isolation,
    _ work: (StepFiles) async throws -> Void,
    commit: @Sendable (Database) throws -> Void = { _ in }
  ) async throws {
    _ = try await step(
      name, isolation: isolation,
      { files in
        try await work(files)
        return true
      }, commit: { db, _ in try commit(db) })
  }

  /// The same with a limit on its time.
  ///
  /// - Throws: as the first with files and a limit.
  public func step(
    _ name: String, within limit: Duration, isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable (StepFiles) async throws -> Void,
    commit: @Sendable (Database) throws -> Void = { _ in }
  ) async throws {
    _ = try await step(
      name, within: limit, isolation: isolation,
      { files in
        try await work(files)
        return true
      }, commit: { db, _ in try commit(db) })
  }
}
