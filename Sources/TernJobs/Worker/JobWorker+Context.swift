import Foundation
import GRDB
@_spi(Rehearsal) import TernCore

/// What a ``JobContext`` asks of the worker that runs it.
extension JobWorker {
  func checkpoint(_ kind: CheckpointKind, _ name: String, of claim: Claim) async throws -> Data? {
    try await read { try $0.checkpoint(kind, name, of: claim) }
  }

  func report(_ progress: Double?, _ message: String?, of claim: Claim) async throws {
    try await write(isDurable: false) { try $0.report(progress, message, of: claim) }
    noteProgress(of: claim)
  }

  func deadline(_ name: String, _ duration: Duration, of claim: Claim) async throws -> Duration {
    let environment = queue.environment
    return try await write { rows in
      let stored = try rows.checkpoint(.deadline, name, of: claim).map {
        try JobCoding.decode(DeadlineLife.self, $0, of: name)
      }
      let now = environment.now
      let life =
        stored?.asked(at: now)
        ?? DeadlineLife(since: now, until: environment.time(after: duration))
      if life != stored {
        try rows.storeCheckpoint(.deadline, name, try JobCoding.encode(life), of: claim)
      }
      return life.until.duration
    }
  }

  /// Makes what a step wrote durable, before anybody names it.
  func settle(_ files: StepFiles) async throws {
    let queue = queue
    for file in files.created {
      let size = try await queue.copying.run {
        try queue.reportingFile(file.name) {
          try queue.durableFile.settle(queue.folder.absolute(file.path))
        }
      }
      guard let size else {
        throw JobQueueError(.noSuchFile, "nothing was written to the file “\(file.name)”")
      }
      if size > queue.limits.fileBytes { throw queue.tooLarge(file.name) }
    }
  }

  /// Of a job that goes on.
  private struct Kept {
    let othersMayGo: Bool
  }

  /// One transaction: the checkpoint, what `body` writes, and the files.
  func commit(
    _ claim: Claim, _ kind: CheckpointKind, _ name: String, _ content: Data, files: StepFiles,
    of attempt: AttemptState, _ body: @Sendable (Database) throws -> Void
  ) async throws {
    let folder = queue.folder
    // What the app's own code throws may be about its service's answer.
    var isOfCode = false
    var unfinished = 0
    attempt.note(refusal: nil)
    do {
      if Planted.isActive(.stepResultApart) {
        try await write { try body($0.db) }
        try CrashPoint.reach(.jobBeforeStepCommit)
      }
      let kept: Kept? = try await transaction { rows in
        unfinished = try rows.unfinished()
        try rows.storeCheckpoint(kind, name, content, of: claim)
        if !Planted.isActive(.stepResultApart) {
          do {
            try AttemptCommit.$database.withValue(ObjectIdentifier(rows.db)) {
              try body(rows.db)
            }
          } catch let error as DatabaseError
            where error.isInterruptionError
            || error.isOfDisk && rows.db.lastErrorCode.primaryResultCode == error.resultCode
          {
            // The app suspended the database under its own statement, or this one's disk is full,
            // which other journals say at the commit alone: nothing of this transaction is left,
            // and all of it runs again later.
            throw error
          } catch {
            isOfCode = true
            throw OfApp(error: error)
          }
        }
        // The step itself ended its job: that holds, with what the step wrote, and is the
        // last of it.
        guard try rows.isRunning(claim) else { return nil }
        let created = files.created.map(\.name)
        var gone = try created.compactMap { try rows.dropFile($0, of: claim) }
        for name in files.released where !created.contains(name) {
          guard let path = try rows.dropFile(name, of: claim) else {
            throw JobQueueError(
              .noSuchFile, "job \(claim.id) releases “\(name)”, and has no file of that name")
          }
          gone.append(path)
        }
        for file in files.created { try file.give(to: claim.id, rows) }
        folder.unlink(gone, afterCommitOf: rows.db)
        let kept = Kept(othersMayGo: try rows.progress(claim))
        rows.observe(kind == .step ? .stepped(name) : .saved(name), of: claim)
        try CrashPoint.reach(.jobBeforeStepCommit)
        do {
          try AttemptPoint.reach(.commit(name))
        } catch {
          isOfCode = true
          throw OfApp(error: error)
        }
        return kept
      }
      queue.roomless.withLock { $0[claim.id] = nil }
      noteProgress(of: claim)
      // Those behind the gate need not wait for the probe's end; and a handler whose job has ended
      // is to be told.
      if kept?.othersMayGo ?? true { ofRun.news?.yield() }
      if kept == nil { return }
      for name in files.released { attempt.set(name, nil) }
      for file in files.created { attempt.set(file.name, file.path) }
      try CrashPoint.reach(.jobAfterStepCommit)
    } catch let error as OfApp {
      if !isOfCode { attempt.note(refusal: error.error) }
      guard var refusal = error.error as? JobQueueError, refusal.full?.queue == claim.queue else {
        throw error.error
      }
      // With nobody there but the job itself there will never be more room.
      if unfinished <= 1 {
        throw JobQueueError.neverFits(in: queue.limits.jobsAndFollowUps, of: claim.id)
      }
      refusal.full = .init(queue: claim.queue, count: unfinished, isBefore: true)
      throw refusal
    } catch let error as JobQueueError {
      throw error
    } catch {
      if !Task.isCancelled { fail(error) }
      throw error
    }
    // Behind what ends the worker: it is the attempt's alone.
    try AttemptPoint.reach(.committed(name))
  }
}
