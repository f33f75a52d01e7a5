import TernCore

extension JobTransaction {
  /// Stores the answer to a transfer, once, and lets its job go on.
  func take(_ news: TransferNews, _ sight: TransferSight, at now: WallTime) throws {
    guard let id = TransferID(news.id), let begun = try transfers.begun(id.name, of: id.job),
      begun.id == news.id || Planted.isActive(.lateAnswerTaken),
      let (_, _, service) = try jobs.life(id.job)
    else { return }
    try transfers.store(news, sight, id, begun)
    // Failures are forgotten as the handler makes something of it: what it can do nothing with must
    // not be sent for ever.
    if news.isDone { try observe(.stepped(id.name), of: id.job, service) }
    let isAwaited = begun.isAwaited || Planted.isActive(.retryHurriedByAnswer)
    if isAwaited, !Planted.isActive(.answerStoredApart) { try free(id.job, at: now) }
  }

  /// Lets a job run that waits for an answer: it is there, or nobody will give it.
  func free(_ job: JobID, at now: WallTime) throws {
    guard let (life, _, _) = try jobs.life(job), life.state == .waiting else { return }
    // One that was ready before keeps its place.
    try jobs.store(life, of: job, since: now)
  }
}
