import Foundation
import GRDB
import TernCore

/// What a ``JobContext`` asks of the worker that runs it.
extension JobWorker {
  func checkpoint(_ kind: CheckpointKind, _ name: String, of claim: Claim) async throws -> Data? {
    try await read { try $0.checkpoint(kind, name, of: claim) }
  }

  func report(_ progress: Double?, _ message: String?, of claim: Claim) async throws {
    try await write { try $0.report(progress, message, of: claim) }
  }

  func deadline(_ name: String, _ duration: Duration, of claim: Claim) async throws -> WallTime {
    let environment = queue.environment
    return try await write { rows in
      if let stored = try rows.checkpoint(.deadline, name, of: claim) {
        return WallTime(milliseconds: try JobCoding.decode(Int64.self, stored))
      }
      let end = environment.time(after: duration)
      try rows.storeCheckpoint(
        .deadline, name, try JobCoding.encode(end.milliseconds), of: claim)
      return end
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

  /// One transaction: the checkpoint, what `body` writes, and the files.
  func commit(
    _ claim: Claim, _ kind: CheckpointKind, _ name: String, _ content: Data, files: StepFiles,
    of attempt: AttemptFiles, _ body: @Sendable (Database) throws -> Void
  ) async throws {
    let folder = queue.folder
    do {
      if Planted.isActive(.stepResultApart) {
        try await write { try body($0.db) }
        try CrashPoint.reach(.jobBeforeStepCommit)
      }
      let isOpened = try await write { rows in
        try rows.storeCheckpoint(kind, name, content, of: claim)
        if !Planted.isActive(.stepResultApart) {
          do { try body(rows.db) } catch { throw OfHandler(error: error) }
        }
        let changed = files.released + files.created.map(\.name)
        let gone = try changed.compactMap { try rows.dropFile($0, of: claim) }
        for file in files.created { try file.give(to: claim.id, rows) }
        folder.unlink(gone, afterCommitOf: rows.db)
        let isOpened = try rows.progress(claim)
        try CrashPoint.reach(.jobBeforeStepCommit)
        return isOpened
      }
      // Those behind the gate need not wait for the probe's end.
      if isOpened { news?.yield() }
      for name in files.released { attempt.set(name, nil) }
      for file in files.created { attempt.set(file.name, file.path) }
      try CrashPoint.reach(.jobAfterStepCommit)
    } catch let error as OfHandler {
      throw error.error
    } catch let error as JobQueueError {
      throw error
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
      // The app's as well: a deferred foreign key is looked at as late as the commit.
      throw error
    } catch {
      if !Task.isCancelled { fail(error) }
      throw error
    }
  }
}

/// Tells what the app's part of a transaction threw from what the queue's own did.
private struct OfHandler: Error {
  let error: any Error
}
