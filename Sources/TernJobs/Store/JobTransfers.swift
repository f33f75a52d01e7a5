import Foundation
import GRDB
import TernCore

/// What jobs' rows say of their transfers. This is the truth: what a system has and no row wants is
/// cancelled, and what a row wants and no system has is begun again.
struct JobTransfers {
  let rows: JobTransaction
  private var checkpoints: CheckpointRows { rows.checkpoints }

  enum Standing {
    case done(Data)
    case refused(RefusedTransfer)
    /// To be handed over, unless the system has it.
    case begun(String)
    /// It is refused now, and the system need not go on.
    case late(String, RefusedTransfer)
  }

  /// Notes that a transfer begins, where nothing is known of it.
  func begin(
    _ name: String, _ length: Duration, of claim: Claim, _ credential: CredentialMark?,
    _ environment: JobEnvironment, sight: (String) -> TransferSight
  ) throws -> Standing {
    if let done = try checkpoints.checkpoint(.step, name, of: claim) { return .done(done) }
    let refused: RefusedTransfer? = try checkpoints.decoded(.refusal, name, of: claim)
    if let refused, !refused.isSpent { return .refused(refused) }
    let now = environment.now
    let stored: BegunTransfer? = try checkpoints.decoded(.transfer, name, of: claim)
    let begun = BegunTransfer(
      id: stored?.id ?? TransferID(of: claim, name: name).text,
      limit: stored?.limit.asked(at: now)
        ?? DeadlineLife(since: now, until: environment.time(after: length)),
      isAwaited: stored?.isAwaited ?? false,
      breaks: stored.map(\.breaks) ?? refused?.breaks,
      credential: stored.map(\.credential) ?? credential?.value)
    if now >= begun.limit.until {
      let refused = RefusedTransfer(sight(begun.id), answer: nil, of: begun)
      try checkpoints.drop(.transfer, name, of: claim.id)
      try rows.store(.refusal, name, try JobCoding.encode(refused), of: claim)
      return .late(begun.id, refused)
    }
    if begun != stored {
      if refused != nil { try checkpoints.drop(.refusal, name, of: claim.id) }
      try rows.store(.transfer, name, try JobCoding.encode(begun), of: claim)
    }
    return .begun(begun.id)
  }

  // MARK: - As an attempt ends

  func begun(_ name: String, of job: JobID) throws -> BegunTransfer? {
    try checkpoints.content(.transfer, name, of: job).map {
      try JobCoding.decode(BegunTransfer.self, $0, of: name)
    }
  }

  /// By name, those that were begun.
  func readable(of job: JobID) throws -> [ExactText: BegunTransfer] {
    var found: [ExactText: BegunTransfer] = [:]
    for name in try checkpoints.names(.transfer, of: job) {
      let stored = try checkpoints.content(.transfer, name, of: job)
      // What cannot be read parks its job as that asks for it.
      found[ExactText(name)] = stored.flatMap { try? JobCoding.decode(BegunTransfer.self, $0) }
    }
    return found
  }

  func refusal(_ name: String, of job: JobID) throws -> RefusedTransfer? {
    let stored = try checkpoints.content(.refusal, name, of: job)
    // What cannot be read any more goes as well.
    return stored.flatMap { try? JobCoding.decode(RefusedTransfer.self, $0) }
  }

  func write(_ change: AttemptOutcome.Change, of job: JobID) throws {
    switch change {
    case .begun(let name, let begun):
      try checkpoints.replace(.transfer, name, try JobCoding.encode(begun), of: job)
    case .refused(let name, let refused):
      try checkpoints.replace(.refusal, name, try JobCoding.encode(refused), of: job)
    case .dropped(let one): try checkpoints.drop(one.kind, one.name, of: job)
    }
  }

  // MARK: - Answers

  /// Stores the answer to a transfer, once.
  func store(_ news: TransferNews, _ sight: TransferSight, _ id: TransferID, _ begun: BegunTransfer)
    throws
  {
    try checkpoints.drop(.transfer, id.name, of: id.job)
    let refused = RefusedTransfer(sight, answer: news.content, of: begun)
    try checkpoints.add(
      news.isDone ? .step : .refusal, id.name,
      news.isDone ? news.content : try JobCoding.encode(refused), of: id.job)
  }

  // MARK: - Wanted

  /// A transfer that a row wants.
  struct Wanted {
    let id: String
    let job: JobID
    /// Whether the job's attempt has ended, and the job waits for this.
    let isAwaited: Bool
  }

  /// Of all jobs.
  func wanted() throws -> [Wanted] { try wanted("ORDER BY j.id") }

  /// Of the jobs alone that have these.
  func wanted(of ids: Set<String>) throws -> [Wanted] {
    let jobs = Set(ids.compactMap { TransferID($0)?.job })
    return try jobs.sorted().flatMap { try wanted("AND j.id = ?", [$0.rawValue]) }
  }

  /// The jobs that have reached nobody before, and wait for a transfer now.
  func unreachedAwaiting() throws -> Set<JobID> {
    Set(try wanted("AND j.unreached > 0").filter(\.isAwaited).map(\.job))
  }

  private static let wanted = """
    SELECT c.content, j.id, j.state FROM \(JobTables.job) AS j CROSS JOIN \(JobTables.checkpoint) AS c
    WHERE c.job = j.id AND c.kind = \(CheckpointKind.transfer.rawValue)
    """

  private func wanted(_ which: String, _ values: StatementArguments = []) throws -> [Wanted] {
    try rows.connection.rows("\(Self.wanted) \(which)", values).compactMap { row in
      // What cannot be read parks its job as that runs, and nobody would know the answer's place.
      guard let begun = try? JobCoding.decode(BegunTransfer.self, row[0]) else { return nil }
      return Wanted(
        id: begun.id, job: JobID(rawValue: row[1]),
        isAwaited: begun.isAwaited && row[2] == JobState.waiting.rawValue)
    }
  }
}

extension JobTransaction {
  /// Stores the answer to a transfer, once, and lets its job go on.
  func take(_ news: TransferNews, _ sight: TransferSight, at now: WallTime) throws {
    guard let id = TransferID(news.id), let begun = try transfers.begun(id.name, of: id.job),
      begun.id == news.id || Planted.isActive(.lateAnswerTaken),
      let found = try jobs.life(id.job)
    else { return }
    try transfers.store(news, sight, id, begun)
    // Failures are forgotten as the handler makes something of it: what it can do nothing with must
    // not be sent for ever.
    if news.isDone { try observe(.stepped(id.name), of: id.job, found.service) }
    let isAwaited = begun.isAwaited || Planted.isActive(.retryHurriedByAnswer)
    if isAwaited, !Planted.isActive(.answerStoredApart) { try free(id.job, at: now) }
  }

  /// Lets a job run that waits for an answer: it is there, or nobody will give it.
  func free(_ job: JobID, at now: WallTime) throws {
    guard let life = try jobs.life(job)?.life, life.state == .waiting else { return }
    // One that was ready before keeps its place.
    try jobs.store(life, of: job, since: now)
  }
}
