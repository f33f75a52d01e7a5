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
    _ name: String, _ length: Duration, of claim: Claim, _ credential: CredentialMark?,
    _ environment: JobEnvironment, sight: (String) -> TransferSight
  ) throws -> TransferStanding {
    if let done = try checkpoint(.step, name, of: claim) { return .done(done) }
    let refused = try checkpoint(.refusal, name, of: claim).map {
      try JobCoding.decode(RefusedTransfer.self, $0, of: name)
    }
    if let refused, !refused.isSpent { return .refused(refused) }
    let now = environment.now
    let stored = try checkpoint(.transfer, name, of: claim).map {
      try JobCoding.decode(BegunTransfer.self, $0, of: name)
    }
    let begun = BegunTransfer(
      id: stored?.id ?? TransferID(of: claim, name: name).text,
      limit: stored?.limit.asked(at: now)
        ?? DeadlineLife(since: now, until: environment.time(after: length)),
      isAwaited: stored?.isAwaited ?? false,
      breaks: stored.map(\.breaks) ?? refused?.breaks,
      credential: stored.map(\.credential) ?? credential?.value)
    if now >= begun.limit.until {
      let refused = RefusedTransfer(sight(begun.id), answer: nil, of: begun)
      try drop(.transfer, name, of: claim.id)
      try storeCheckpoint(.refusal, name, try JobCoding.encode(refused), of: claim)
      return .late(begun.id, refused)
    }
    if begun != stored {
      if refused != nil { try drop(.refusal, name, of: claim.id) }
      try storeCheckpoint(.transfer, name, try JobCoding.encode(begun), of: claim)
    }
    return .begun(begun.id)
  }

  /// Lets a job wait for what its transfers come to.
  ///
  /// - Returns: for how long: not at all, if one has come to something.
  func wait(for names: Set<String>, of claim: Claim, at now: WallTime) throws -> Duration {
    try names.sorted().map { name in
      guard var begun = try begun(name, of: claim.id) else { return .zero }
      begun.isAwaited = true
      try replace(.transfer, try JobCoding.encode(begun), name, of: claim.id)
      return max(begun.limit.until.duration - now.duration, .zero)
    }.min() ?? .zero
  }

  /// An attempt has failed: its job waits for what follows from that. What the handler was given of
  /// transfers, and is not to be given again, goes, so that the next attempt begins them anew.
  ///
  /// - Parameter advice: what the failure means; `nil` where the job is parked.
  /// - Returns: ``JobLife/Circumstances/unseenBreaks``.
  func endTransfers(
    spent: Set<SpentTransfer>, after advice: FailureAdvice?, of job: JobID
  ) throws -> Int {
    var breaks = 0
    for one in spent where !Planted.isActive(.refusalKept) {
      let stored = one.kind == .refusal ? try content(.refusal, one.name, of: job) : nil
      // What cannot be read any more goes as well.
      let refused = stored.flatMap { try? JobCoding.decode(RefusedTransfer.self, $0) }
      breaks = max(breaks, refused?.unseenBreaks ?? 0)
      if let kept = refused?.afterFailure(advice) {
        try replace(.refusal, try JobCoding.encode(kept), one.name, of: job)
      } else {
        try drop(one.kind, one.name, of: job)
      }
    }
    let names = try rows(
      "SELECT name FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ?",
      [job.rawValue, CheckpointKind.transfer.rawValue])
    for name in names.map({ $0[0] as String }) {
      let stored = try content(.transfer, name, of: job)
      // What cannot be read parks its job as that asks for it.
      guard var begun = stored.flatMap({ try? JobCoding.decode(BegunTransfer.self, $0) }),
        begun.isAwaited
      else { continue }
      begun.isAwaited = false
      try replace(.transfer, try JobCoding.encode(begun), name, of: job)
    }
    return breaks
  }

  /// Stores the answer to a transfer, once, and lets its job go on.
  ///
  /// - Returns: `false` where no row wants it.
  @discardableResult
  func take(_ news: TransferNews, _ sight: TransferSight, at now: WallTime) throws -> Bool {
    guard let id = TransferID(news.id), let begun = try begun(id.name, of: id.job),
      begun.id == news.id || Planted.isActive(.lateAnswerTaken),
      let (_, _, service) = try life(id.job)
    else { return false }
    try drop(.transfer, id.name, of: id.job)
    let refused = RefusedTransfer(sight, answer: news.content, of: begun)
    try run(
      """
      INSERT INTO \(JobTables.checkpoint) (job, kind, name, content) VALUES (?, ?, ?, ?)
      ON CONFLICT DO NOTHING
      """,
      [
        id.job.rawValue, (news.isDone ? CheckpointKind.step : .refusal).rawValue, id.name,
        news.isDone ? news.content : try JobCoding.encode(refused),
      ])
    // Failures are forgotten as the handler makes something of it: what it can do nothing with must
    // not be sent for ever.
    if news.isDone { try observe(.stepped(id.name), of: id.job, service) }
    let isAwaited = begun.isAwaited || Planted.isActive(.retryHurriedByAnswer)
    if isAwaited, !Planted.isActive(.answerStoredApart) { try free(id.job, at: now) }
    return true
  }

  /// A transfer that a row wants.
  struct Wanted {
    let id: String
    let job: JobID
    /// Whether the job's attempt has ended, and the job waits for this.
    let isAwaited: Bool
  }

  /// Of all jobs.
  func wantedTransfers() throws -> [Wanted] { try wanted(rows("\(Self.wanted) ORDER BY j.id")) }

  /// Of the jobs alone that have these.
  func wantedTransfers(of ids: Set<String>) throws -> [Wanted] {
    let jobs = Set(ids.compactMap { TransferID($0)?.job })
    return try jobs.sorted().flatMap {
      try wanted(rows("\(Self.wanted) AND j.id = ?", [$0.rawValue]))
    }
  }

  /// The jobs that have reached nobody before, and wait for a transfer now.
  func unreachedAwaiting() throws -> Set<JobID> {
    let wanted = try wanted(rows("\(Self.wanted) AND j.unreached > 0"))
    return Set(wanted.filter(\.isAwaited).map(\.job))
  }

  private static let wanted = """
    SELECT c.content, j.id, j.state FROM \(JobTables.job) AS j CROSS JOIN \(JobTables.checkpoint) AS c
    WHERE c.job = j.id AND c.kind = \(CheckpointKind.transfer.rawValue)
    """

  private func wanted(_ rows: [Row]) -> [Wanted] {
    rows.compactMap { row in
      // What cannot be read parks its job as that runs, and nobody would know the answer's place.
      guard let begun = try? JobCoding.decode(BegunTransfer.self, row[0]) else { return nil }
      return Wanted(
        id: begun.id, job: JobID(rawValue: row[1]),
        isAwaited: begun.isAwaited && row[2] == JobState.waiting.rawValue)
    }
  }

  /// Lets a job run that waits for an answer: it is there, or nobody will give it.
  func free(_ job: JobID, at now: WallTime) throws {
    guard let (life, _, _) = try life(job), life.state == .waiting else { return }
    // One that was ready before keeps its place.
    try store(life, of: job, since: now)
  }

  /// The next attempt begins anew what was refused.
  func dropRefusals(of job: JobID) throws {
    try run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ?",
      [job.rawValue, CheckpointKind.refusal.rawValue])
  }

  private func begun(_ name: String, of job: JobID) throws -> BegunTransfer? {
    try content(.transfer, name, of: job).map {
      try JobCoding.decode(BegunTransfer.self, $0, of: name)
    }
  }

  private func content(_ kind: CheckpointKind, _ name: String, of job: JobID) throws -> Data? {
    let row = try row(
      "SELECT content FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, kind.rawValue, name])
    return row?[0]
  }

  private func replace(
    _ kind: CheckpointKind, _ content: Data, _ name: String, of job: JobID
  ) throws {
    try run(
      "UPDATE \(JobTables.checkpoint) SET content = ? WHERE job = ? AND kind = ? AND name = ?",
      [content, job.rawValue, kind.rawValue, name])
  }

  private func drop(_ kind: CheckpointKind, _ name: String, of job: JobID) throws {
    try run(
      "DELETE FROM \(JobTables.checkpoint) WHERE job = ? AND kind = ? AND name = ?",
      [job.rawValue, kind.rawValue, name])
  }
}
