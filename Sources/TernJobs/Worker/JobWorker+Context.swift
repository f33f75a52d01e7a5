import Foundation
import GRDB
@_spi(Rehearsal) import TernCore

/// What a ``JobContext`` asks of the worker that runs it.
extension JobWorker {
  func checkpoint(_ kind: CheckpointKind, _ name: String, of claim: Claim) async throws -> Data? {
    try await database.read { try $0.checkpoints.checkpoint(kind, name, of: claim) }
  }

  func report(_ progress: Double?, _ message: String?, of claim: Claim) async throws {
    try await database.write(isDurable: false) {
      try $0.jobs.report(progress, message, of: claim)
    }
    ofRun.attempts.noteProgress(of: claim)
  }

  func deadline(_ name: String, _ duration: Duration, of claim: Claim) async throws -> Duration {
    let environment = queue.environment
    return try await database.write { rows in
      let stored: DeadlineLife? = try rows.checkpoints.decoded(.deadline, name, of: claim)
      let now = environment.now
      let life =
        stored?.asked(at: now)
        ?? DeadlineLife(since: now, until: environment.time(after: duration))
      if life != stored {
        try rows.store(.deadline, name, try JobCoding.encode(life), of: claim)
      }
      return life.until.duration
    }
  }

  /// An attempt begins something that ends by itself after a while.
  func allow(_ time: Duration, for claim: Claim) { ofRun.attempts.allow(time, for: claim) }

  /// One transaction: the checkpoint, what `body` writes, and the files.
  func commit(
    _ checkpoint: CheckpointCommit, of attempt: AttemptState,
    _ body: @Sendable (Database) throws -> Void
  ) async throws {
    let (claim, folder) = (checkpoint.claim, queue.folder)
    var unfinished = 0
    attempt.note(refusal: nil)
    do {
      if Planted.isActive(.stepResultApart) {
        try await database.write { try body($0.db) }
        try CrashPoint.reach(.jobBeforeStepCommit)
      }
      let outcome = try await database.transaction { rows in
        unfinished = try rows.queue.unfinished()
        return try checkpoint.write(rows, folder, body)
      }
      queue.roomless.withLock { $0[claim.id] = nil }
      ofRun.attempts.noteProgress(of: claim)
      switch outcome {
      case .ended:
        // A handler whose job has ended is to be told.
        signals.wake()
        return
      case .goesOn(let othersMayGo):
        // Those behind the gate need not wait for the probe's end.
        if othersMayGo { signals.wake() }
      }
      attempt.take(checkpoint.files)
      try CrashPoint.reach(.jobAfterStepCommit)
    } catch let error as OfApp {
      // What the app's own code throws may be about its service's answer.
      if !error.isOfCode { attempt.note(refusal: error.error) }
      throw checkpoint.refusal(error.error, unfinished: unfinished, queue.limits)
    } catch let error as JobQueueError {
      throw error
    } catch {
      if !Task.isCancelled { signals.fail(error) }
      throw error
    }
    // Behind what ends the worker: it is the attempt's alone.
    try AttemptPoint.reach(.committed(checkpoint.name))
  }
}
