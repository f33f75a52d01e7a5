import Foundation
import GRDB
@_spi(Rehearsal) import TernCore

/// A step's result or a value, with the files that its step made and gave up, as one transaction
/// stores all of it.
struct CheckpointCommit {
  let claim: Claim
  let kind: CheckpointKind
  let name: String
  let content: Data
  let files: StepFiles

  /// What became of its job.
  enum Outcome {
    /// - Parameter othersMayGo: that might not before.
    case goesOn(othersMayGo: Bool)
    /// The step itself ended it: that holds, with what the step wrote, and is the last of it.
    case ended
  }

  /// - Parameter body: the app's part.
  /// - Throws: ``OfApp`` for what the app's own code threw; what refused the rest.
  func write(
    _ rows: JobTransaction, _ folder: JobFolder, _ body: (Database) throws -> Void
  ) throws -> Outcome {
    try rows.store(kind, name, content, of: claim)
    if !Planted.isActive(.stepResultApart) { try run(body, rows.db) }
    guard try rows.jobs.running(claim) != nil else { return .ended }
    let created = files.created
    var gone = try created.compactMap { try rows.files.drop($0.name, of: claim.id) }
    for name in files.released where !created.contains(where: { $0.name == name }) {
      guard let path = try rows.files.drop(name, of: claim.id) else {
        throw JobQueueError(
          .noSuchFile, "job \(claim.id) releases “\(name)”, and has no file of that name")
      }
      gone.append(path)
    }
    for file in created { try file.give(to: claim.id, rows) }
    folder.unlink(gone, afterCommitOf: rows.db)
    let othersMayGo = try rows.progress(claim)
    rows.observe(kind == .step ? .stepped(name) : .saved(name), of: claim)
    try CrashPoint.reach(.jobBeforeStepCommit)
    do {
      try AttemptPoint.reach(.commit(name))
    } catch {
      throw OfApp(error: error, isOfCode: true)
    }
    return .goesOn(othersMayGo: othersMayGo)
  }

  private func run(_ body: (Database) throws -> Void, _ db: Database) throws {
    do {
      try AttemptCommit.$database.withValue(ObjectIdentifier(db)) { try body(db) }
    } catch let error as DatabaseError
      where error.isInterruptionError
      || error.isOfDisk && db.lastErrorCode.primaryResultCode == error.resultCode
    {
      // The app suspended the database under its own statement, or this one's disk is full, which
      // other journals say at the commit alone: nothing of this transaction is left, and all of it
      // runs again later.
      throw error
    } catch {
      throw OfApp(error: error, isOfCode: true)
    }
  }

  /// What the step throws where the app refused its commit.
  ///
  /// - Parameter unfinished: how many jobs had not ended before.
  func refusal(_ error: any Error, unfinished: Int, _ limits: JobLimits) -> any Error {
    guard var refusal = error as? JobQueueError, refusal.full?.queue == claim.queue else {
      return error
    }
    // With nobody there but the job itself there will never be more room.
    if unfinished <= 1 { return JobQueueError.neverFits(in: limits.jobsAndFollowUps, of: claim.id) }
    refusal.full = .init(queue: claim.queue, count: unfinished, isBefore: true)
    return refusal
  }
}
