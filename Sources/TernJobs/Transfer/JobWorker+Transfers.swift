import GRDB
import TernCore

/// The worker between its jobs' rows and what carries their transfers.
extension JobWorker {
  /// What a job's row says of a transfer; one that is to be handed over is this run's from now on.
  func transfer(
    _ name: String, _ length: Duration, of claim: Claim
  ) async throws -> JobRows.TransferStanding {
    let environment = queue.environment
    let standing = try await write {
      try $0.transfer(name, length, of: claim, environment, isSteady: isSteady)
    }
    switch standing {
    case .begun(let id): handedOver[id] = handedOver[id] ?? path.path
    case .late(let id, _): await forget(id)
    case .done, .refused: break
    }
    return standing
  }

  /// Lets go of a transfer that was not handed over.
  func keep(_ id: String) { handedOver[id] = nil }

  /// Compares what the system has with what rows want: what it lost is for its job to begin again, and
  /// what nobody wants is cancelled.
  func compareTransfers() async throws {
    guard let transfers else { return }
    // Before the rows: what is handed over in between has its row.
    let held = await transfers.ids()
    let wanted = try await write { rows in
      let wanted = try rows.wantedTransfers()
      for one in wanted where one.isAwaited && !held.contains(one.id) {
        try rows.free(one.job, at: queue.environment.now)
      }
      return wanted
    }
    let ids = Set(wanted.map(\.id))
    for id in held.union(handedOver.keys).subtracting(ids).sorted() { await forget(id) }
    // Of one from an earlier run nobody saw through which networks it went.
    for id in held.intersection(ids) where handedOver[id] == nil { handedOver[id] = .unseen }
    news?.yield()
  }

  func followWithdrawals(_ withdrawals: AsyncStream<Void>) async {
    for await _ in withdrawals { await compareTransfersOrFail() }
  }

  func compareTransfersOrFail() async {
    do {
      try await compareTransfers()
    } catch {
      if !Task.isCancelled { fail(error) }
    }
  }

  /// Stores an answer, and only then lets the system forget it.
  func take(_ news: TransferNews) async {
    let environment = queue.environment
    var backoff = environment.unreached
    do {
      while true {
        do {
          try await transaction { rows in
            try rows.take(news, isSteady: isSteady(news.id), at: environment.now)
            try CrashPoint.reach(.uploadBeforeStore)
          }
          break
        } catch is OfApp {
          // What an observer of the app's refuses today it may take tomorrow; the system keeps it.
          try await environment.clock.sleep(for: backoff.next(jitter: environment.jitter()))
        }
      }
      try CrashPoint.reach(.uploadAfterStore)
      await forget(news.id)
    } catch {
      if !Task.isCancelled { fail(error) }
    }
    self.news?.yield()
  }

  private func forget(_ id: String) async {
    await transfers?.forget(id)
    handedOver[id] = nil
  }

  private func isSteady(_ id: String) -> Bool {
    handedOver[id].map { $0.hasRoute && $0 == path.path } ?? false
  }
}

extension NetworkPath {
  /// What nobody has seen is no network that stayed the same.
  static let unseen = NetworkPath(hasRoute: false, generation: 0)
}
