import Foundation
import GRDB
import TernCore

extension JobRows {
  /// - Throws: ``JobQueueError`` `.notRunning` when the attempt is not this job's any more.
  private func running(_ claim: Claim) throws -> (life: JobLife, service: String?) {
    guard let (life, starts, service) = try life(claim.id), life.state == .running,
      starts == claim.start
    else {
      throw JobQueueError(
        .notRunning,
        "job \(claim.id) was removed or cancelled, or another attempt has it; end this one")
    }
    return (life, service)
  }

  func isRunning(_ claim: Claim) throws -> Bool {
    guard let (life, starts, _) = try life(claim.id) else { return false }
    return life.state == .running && starts == claim.start
  }

  // MARK: - Checkpoints

  func checkpoint(_ kind: CheckpointKind, _ name: String, of claim: Claim) throws -> Data? {
    try JobQueueError.refuseNull(in: name, "the name of what job \(claim.id) stores")
    return try row(
      "SELECT content FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [claim.id.rawValue, kind.rawValue, name]
    )?[0]
  }

  func storeCheckpoint(
    _ kind: CheckpointKind, _ name: String, _ content: Data, of claim: Claim
  ) throws {
    _ = try running(claim)
    try JobQueueError.refuseNull(in: name, "the name of what job \(claim.id) stores")
    guard content.count <= limits.checkpointBytes else {
      throw JobQueueError(
        .checkpointTooLarge,
        "“\(name)” has \(content.count) bytes, and the limit is \(limits.checkpointBytes); put "
          + "large content into a file")
    }
    try run(
      """
      INSERT INTO \(JobTables.checkpoint) (job, kind, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET content = excluded.content
      WHERE kind <> \(CheckpointKind.step.rawValue)
      """, [claim.id.rawValue, kind.rawValue, name, content])
    if db.changesCount == 0 { throw JobQueueError.duplicateStep(name, of: claim.id) }
    let count: Int = try row(
      "SELECT count(*) FROM \(JobTables.checkpoint) WHERE job = ?", [claim.id.rawValue])![0]
    guard count <= limits.checkpointsPerJob else {
      throw JobQueueError(
        .tooManyCheckpoints,
        "a job has no more than \(limits.checkpointsPerJob) checkpoints; enqueue another job")
    }
  }

  /// The job got on: its failures are forgotten, and the gate that it tried is open. Of its
  /// service's budget nothing comes back: a step may have been done here alone.
  ///
  /// - Returns: whether others may go now that might not before.
  func progress(_ claim: Claim) throws -> Bool {
    var (life, service) = try running(claim)
    let before = life
    _ = life.handle(.checkpoint)
    if life != before {
      try run(
        "UPDATE \(JobTables.job) SET failures = ?, unreached = ?, deaths = ? WHERE id = ?",
        [life.failures, life.unreached, life.deaths, claim.id.rawValue])
    }
    return try tell(service, .passed(claim.id))
  }

  func report(_ progress: Double?, _ message: String?, of claim: Claim) throws {
    _ = try running(claim)
    try run(
      "UPDATE \(JobTables.job) SET progress = ?, message = ? WHERE id = ?",
      [progress, message.map(limits.cut), claim.id.rawValue])
  }

  /// - Returns: the path of the file that the job does not have any more.
  func dropFile(_ name: String, of claim: Claim) throws -> String? {
    let found = try row(
      "SELECT path FROM \(JobTables.file) WHERE job = ? AND name = ?", [claim.id.rawValue, name])
    guard let path: String = found?[0] else { return nil }
    try run("DELETE FROM \(JobTables.file) WHERE path = ?", [path])
    return path
  }

  // MARK: - The end

  /// Writes how an attempt ended. What the transaction ends is to be followed by
  /// ``trimHistory(after:at:)``.
  ///
  /// - Returns: paths of files to unlink; `nil` for a job that goes on, or that was gone.
  func finish(
    _ claim: Claim, _ end: AttemptEnd, _ environment: JobEnvironment
  ) throws -> [String]? {
    let now = environment.now
    guard let (found, starts, service) = try life(claim.id), found.state == .running,
      starts == claim.start
    else {
      // The job is gone.
      try heed(end, of: claim, environment)
      observe(.abandoned(ran: end.ran ?? .zero), of: claim)
      return nil
    }
    var life = found
    var event = end.event
    switch event {
    case .entrusted:
      event = .entrusted(for: try wait(for: end.entrusted, of: claim, at: now))
    case .failed(let advice, var around):
      around.unseenBreaks = try endTransfers(spent: end.spent, after: advice, of: claim.id)
      event = .failed(advice, around)
    case .unusable: _ = try endTransfers(spent: end.spent, after: nil, of: claim.id)
    default: break
    }
    // Where there is more room than it found, it may have found too little for all that it wants.
    if let full = end.full, try full.isBefore || unfinished() >= full.count { event = .crowdedOut }
    if let credential = end.credential {
      try tell(claim.lane, credential, at: now)
      if end.event != .succeeded { event = .unauthorized }
    }
    let action = life.handle(event)
    if let service, let budget = environment.retryBudget {
      if end.event == .succeeded {
        try credit(service, budget, at: now)
      } else if end.isOfService, end.event.costsService {
        try spend(service, budget, at: now)
      }
    }
    var ready: WallTime?
    switch action {
    case .none: try tell(service, end.event == .succeeded ? .passed(claim.id) : .ended(claim.id))
    case .wait(let delay):
      // Without a wait its place in the order stays.
      if delay > .zero { ready = environment.time(after: delay) }
      try tell(service, .ended(claim.id))
    case .closeGate(let delay):
      let until = environment.time(after: delay)
      if service == nil { ready = until }
      try tell(service, .limited(since: now, until: until))
    }
    observe(end, of: claim, from: found, to: life, action, at: now)
    if life.state == .done { return try conclude(claim.id, .done, at: now) }
    let names = end.entrusted.sorted().map { "“\($0)”" }.joined(separator: ", ")
    let waits = ready == nil || names.isEmpty ? nil : "what it handed over goes on: \(names)"
    try store(life, of: claim.id, since: now, ready: ready, reason: end.reason ?? waits)
    if let reason = end.reason {
      let counts = life.failures > found.failures || life.state != .waiting
      try note(reason, start: claim.start, of: claim.id, counts: counts, at: now)
    }
    return nil
  }
}

extension JobRows {
  /// What its service said to an attempt that is not its job's any more holds for the others.
  func heed(_ end: AttemptEnd, of claim: Claim, _ environment: JobEnvironment) throws {
    guard case .failed(.limited(let delay), let around) = end.event else { return }
    let until = environment.time(after: JobLife.gateDelay(delay, around))
    try tell(claim.service, .limited(since: environment.now, until: until))
  }
}
