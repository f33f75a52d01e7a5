import Foundation
import TernCore

extension JobTransaction {
  /// - Throws: ``JobQueueError`` `.notRunning`, `.invalidName`, `.checkpointTooLarge`,
  ///   `.duplicateStep`, `.tooManyCheckpoints`.
  func store(_ kind: CheckpointKind, _ name: String, _ content: Data, of claim: Claim) throws {
    try jobs.ensureRunning(claim)
    try checkpoints.store(kind, name, content, of: claim)
  }

  /// The job got on: its failures are forgotten, and the gate that it tried is open. Of its
  /// service's budget nothing comes back: a step may have been done here alone.
  ///
  /// - Returns: whether others may go now that might not before.
  func progress(_ claim: Claim) throws -> Bool {
    let found = try jobs.ensureRunning(claim)
    var life = found.life
    _ = life.handle(.checkpoint)
    if life != found.life { try jobs.store(progress: life, of: claim.id) }
    return try gates.tell(found.service, .passed(claim.id))
  }

  /// Ends an attempt: reads, decides and writes. What the transaction ends is to be followed by
  /// ``trimHistory(after:at:)``.
  ///
  /// - Returns: paths of files to unlink; `nil` for a job that goes on, or that was gone.
  func finish(
    _ claim: Claim, _ end: AttemptEnd, _ environment: JobEnvironment
  ) throws -> [String]? {
    let time = environment.wallClock()
    let standing = try standing(claim, end)
    let outcome = AttemptOutcome(end, of: claim.id, standing, at: time)
    return try write(
      outcome, of: claim, budget: environment.retryBudget, at: WallTime(notAfter: time))
  }

  /// What an end's outcome depends on.
  private func standing(_ claim: Claim, _ end: AttemptEnd) throws -> AttemptStanding {
    var standing = AttemptStanding(service: claim.service, enqueued: claim.enqueued)
    standing.life = try jobs.running(claim)?.life
    if standing.life == nil { return standing }
    switch end.event {
    case .entrusted:
      for name in end.entrusted {
        standing.transfers[ExactText(name)] = try transfers.begun(name, of: claim.id)
      }
    case .failed, .unusable:
      for one in end.spent where one.kind == .refusal {
        standing.refusals[one.name] = try transfers.refusal(one.name, of: claim.id)
      }
      standing.transfers = try transfers.readable(of: claim.id)
    default: break
    }
    if let full = end.full, !full.isBefore { standing.unfinished = try queue.unfinished() }
    return standing
  }

  private func write(
    _ outcome: AttemptOutcome, of claim: Claim, budget: JobRate?, at now: WallTime
  ) throws -> [String]? {
    for change in outcome.changes { try transfers.write(change, of: claim.id) }
    if let credential = outcome.credential {
      try credentials.tell(claim.lane, credential, at: now)
    }
    if let service = claim.service {
      if let budget { try buckets.tell(outcome.budget, of: service, budget, at: now) }
      if let event = outcome.gate { try gates.tell(service, event) }
    }
    if let news = outcome.news { observe(news, of: claim) }
    guard let life = outcome.life else { return nil }
    if life.state == .done { return try conclude(claim.id, .done, at: now) }
    try jobs.store(
      life, of: claim.id, since: now, ready: outcome.ready, reason: outcome.reason)
    if let failure = outcome.failure {
      try failures.add(
        failure.reason, start: claim.start, of: claim.id, counts: failure.counts, at: now)
    }
    return nil
  }

  /// What its service said to a handler that was fenced.
  func heed(_ end: AttemptEnd, of claim: Claim, _ environment: JobEnvironment) throws {
    if let event = AttemptOutcome.gate(closedBy: end, at: environment.wallClock()) {
      try gates.tell(claim.service, event)
    }
  }
}
