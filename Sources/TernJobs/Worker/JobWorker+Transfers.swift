@_spi(Rehearsal) import TernCore

/// The worker between its jobs' rows and what carries their transfers.
extension JobWorker {
  /// What a job's row says of a transfer; one that is to be handed over is this run's from now on.
  func transfer(
    _ name: String, _ length: Duration, of claim: Claim, _ credential: CredentialMark?
  ) async throws -> JobRows.TransferStanding {
    let environment = queue.environment
    let standing = try await write {
      try $0.transfer(name, length, of: claim, credential, environment, sight: sight)
    }
    switch standing {
    case .begun(let id):
      (ofRun.handedOver[id], ofRun.beginning[id]) = (ofRun.handedOver[id] ?? path.path, false)
    case .late(let id, _): await forget(id)
    case .done, .refused: break
    }
    return standing
  }

  /// Lets go of a transfer that was not handed over.
  func keep(_ id: String) async {
    ofRun.handedOver[id] = nil
    await confirm(id)
  }

  /// It is handed over, or was not: what came of it meanwhile can be forgotten, and is
  /// not begun again.
  func confirm(_ id: String) async {
    if ofRun.beginning.removeValue(forKey: id) ?? false { await forget(id) }
  }

  /// As a run begins, compares what the system has with what rows want: what it lost is for its job
  /// to begin again, and what nobody wants is cancelled.
  func compareTransfers() async throws {
    guard let transfers else { return }
    let held = await transfers.ids()
    let wanted = try await write { rows in
      let wanted = try rows.wantedTransfers()
      for one in wanted
      where one.isAwaited && !held.contains(one.id) && !Planted.isActive(.lostUploadAwaited) {
        try rows.free(one.job, at: queue.environment.now)
      }
      return Set(wanted.map(\.id))
    }
    // Of one from an earlier run nobody saw through which networks it went.
    for id in held { ofRun.handedOver[id] = ofRun.handedOver[id] ?? .unseen(as: path.path) }
    for id in held.subtracting(wanted).sorted() { await forget(id) }
  }

  /// Cancels what was handed over and no row wants any more.
  func cancelUnwanted() async throws {
    if ofRun.handedOver.isEmpty || Planted.isActive(.uploadNotWithdrawn) { return }
    let ids = Set(ofRun.handedOver.keys)
    let wanted = Set(try await read { try $0.wantedTransfers(of: ids) }.map(\.id))
    for id in ids.subtracting(wanted).sorted() {
      await forget(id)
      ofRun.news?.yield()
    }
  }

  /// - Parameter commits: of any queue of the database, in this process: a job may
  ///   have been cancelled.
  func followWithdrawals(_ commits: AsyncStream<Void>) async {
    for await _ in commits {
      do {
        try await cancelUnwanted()
      } catch {
        if !Task.isCancelled { fail(error) }
      }
    }
  }

  /// Stores an answer, and only then lets the system forget it.
  func take(_ news: TransferNews) async {
    let environment = queue.environment
    var backoff = environment.unreached
    var isFirst = true
    if Planted.isActive(.answerForgottenEarly) { await forget(news.id) }
    do {
      while true {
        do {
          try await transaction { rows in
            try rows.take(news, sight(news.id), at: environment.now)
            try CrashPoint.reach(.uploadBeforeStore)
          }
          break
        } catch let refusal as OfApp {
          // What an observer of the app's refuses today it may take tomorrow; the system keeps it.
          if !isFirst {
            ofRun.refusedAnswers[news.id] = refusal.error
            // Who drains waits for it no more.
            if transfers?.endsWithProcess ?? false { ofRun.news?.yield() }
          }
          isFirst = false
          try await environment.sleep(for: backoff.next(jitter: environment.jitter()))
        }
      }
      try CrashPoint.reach(.uploadAfterStore)
      if Planted.isActive(.answerStoredApart), let job = TransferID(news.id)?.job {
        try await write { try $0.free(job, at: environment.now) }
      }
      await forget(news.id)
    } catch {
      if !Task.isCancelled { fail(error) }
    }
    ofRun.news?.yield()
  }

  private func forget(_ id: String) async {
    // Forgotten before, it would be new to the system.
    if ofRun.beginning[id] != nil {
      ofRun.beginning[id] = true
      return
    }
    await transfers?.forget(id)
    (ofRun.handedOver[id], ofRun.refusedAnswers[id]) = (nil, nil)
  }

  private func sight(_ id: String) -> TransferSight {
    if let begun = ofRun.handedOver[id], begun.hasRoute, begun == path.path { return .steady }
    return transfers?.endsWithProcess ?? true ? .unsteady : .unseen
  }
}

extension NetworkPath {
  /// What nobody has seen is no network that stayed the same, and no other one.
  static func unseen(as now: NetworkPath) -> NetworkPath {
    NetworkPath(hasRoute: false, generation: now.generation)
  }
}
