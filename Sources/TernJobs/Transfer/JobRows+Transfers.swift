import Foundation
import GRDB
import TernCore

/// What jobs' rows say of their transfers. This is the truth: what a system has and no row wants is
/// cancelled, and what a row wants and no system has is begun again.
extension JobRows {
  enum TransferStanding {
    case done(Data)
    case refused(RefusedTransfer)
    /// To be handed over, unless the system has it.
    case begun(String)
    /// It is refused now, and the system need not go on.
    case late(String, RefusedTransfer)
  }

  /// Notes that a transfer begins, where nothing is known of it.
  func transfer(
    _ name: String, _ length: Duration, of claim: Claim, _ environment: JobEnvironment,
    isSteady: (String) -> Bool
  ) throws -> TransferStanding {
    if let done = try checkpoint(.step, name, of: claim) { return .done(done) }
    if let refused = try checkpoint(.refusal, name, of: claim) {
      return .refused(try JobCoding.decode(RefusedTransfer.self, refused, of: name))
    }
    let now = environment.now
    let stored = try checkpoint(.transfer, name, of: claim).map {
      try JobCoding.decode(BegunTransfer.self, $0, of: name)
    }
    let begun = BegunTransfer(
      id: stored?.id ?? TransferID(of: claim, name: name).text,
      limit: stored?.limit.asked(at: now)
        ?? DeadlineLife(since: now, until: environment.time(after: length)))
    if now >= begun.limit.until {
      let refused = RefusedTransfer(isSteady: isSteady(begun.id), answer: nil)
      try storeCheckpoint(.refusal, name, try JobCoding.encode(refused), of: claim)
      try dropTransfer(name, of: claim.id)
      return .late(begun.id, refused)
    }
    if begun != stored {
      try storeCheckpoint(.transfer, name, try JobCoding.encode(begun), of: claim)
    }
    return .begun(begun.id)
  }

  /// How long an attempt's job may wait for what its transfers come to: not at all, if one has.
  func patience(for names: Set<String>, of claim: Claim, at now: WallTime) throws -> Duration {
    try names.map { name in
      guard let begun = try begun(name, of: claim.id) else { return .zero }
      return max(begun.limit.until.duration - now.duration, .zero)
    }.min() ?? .zero
  }

  /// Stores the answer to a transfer, once, and lets its job go on.
  ///
  /// - Returns: `false` where no row wants it.
  @discardableResult
  func take(_ news: TransferNews, isSteady: Bool, at now: WallTime) throws -> Bool {
    guard let id = TransferID(news.id), try begun(id.name, of: id.job)?.id == news.id,
      let (found, _, service) = try life(id.job)
    else { return false }
    var life = found
    try dropTransfer(id.name, of: id.job)
    let refused = RefusedTransfer(isSteady: isSteady, answer: news.content)
    try run(
      """
      INSERT INTO \(JobTables.checkpoint) (job, kind, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """,
      [
        id.job.rawValue, (news.isDone ? CheckpointKind.step : .refusal).rawValue, id.name,
        news.isDone ? news.content : try JobCoding.encode(refused),
      ])
    if news.isDone {
      if !life.state.isStuck { _ = life.handle(.checkpoint) }
      try observe(.stepped(id.name), of: id.job, service)
    }
    switch life.state {
    case .waiting: try store(life, of: id.job, since: now, ready: now)
    case .running: try storeCounts(of: life, of: id.job)
    case .failed, .parked, .done, .cancelled: break
    }
    return true
  }

  /// A transfer that a row wants.
  struct Wanted {
    let id: String
    let job: JobID
    /// Whether the job's attempt has ended.
    let isAwaited: Bool
  }

  func wantedTransfers() throws -> [Wanted] {
    try rows(
      """
      SELECT c.content, j.id, j.state FROM \(JobTables.job) AS j CROSS JOIN \(JobTables.checkpoint) AS c
      WHERE c.job = j.id AND c.kind = \(CheckpointKind.transfer.rawValue) ORDER BY j.id
      """
    ).compactMap { row in
      // What can not be read parks its job as that runs, and nobody would know the answer's place.
      guard let begun = try? JobCoding.decode(BegunTransfer.self, row[0]) else { return nil }
      return Wanted(
        id: begun.id, job: JobID(rawValue: row[1]),
        isAwaited: row[2] == JobState.waiting.rawValue)
    }
  }

  /// Lets a job run that waits for an answer that nobody will give.
  func free(_ job: JobID, at now: WallTime) throws {
    guard let (life, _, _) = try life(job), life.state == .waiting else { return }
    try store(life, of: job, since: now, ready: now)
  }

  /// An attempt has failed of what its transfers were refused: the next one begins them anew.
  func dropRefusals(of job: JobID) throws {
    try run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ?",
      [job.rawValue, CheckpointKind.refusal.rawValue])
  }

  private func begun(_ name: String, of job: JobID) throws -> BegunTransfer? {
    let row = try row(
      "SELECT content FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, CheckpointKind.transfer.rawValue, name])
    return try row.map { try JobCoding.decode(BegunTransfer.self, $0[0], of: name) }
  }

  private func dropTransfer(_ name: String, of job: JobID) throws {
    try run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, CheckpointKind.transfer.rawValue, name])
  }
}
