@_spi(Rehearsal) import TernCore

/// What a worker hands over for its jobs: between their rows and what carries their transfers.
actor TransferDesk {
  let system: any TransferSystem
  private let database: WorkerDatabase
  private let path: any NetworkPathSource
  /// The transfers that this run handed over and has no answer to, and the network at that time.
  private var handedOver: [String: NetworkPath] = [:]
  /// Those of them that are being handed over, and whether the system is to forget
  /// them after that.
  private var beginning: [String: Bool] = [:]
  /// Why the app refuses to have the answers to transfers stored, which the system keeps.
  private var refusedAnswers: [String: any Error] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    environment.executor.asUnownedSerialExecutor()
  }
  private nonisolated var environment: JobEnvironment { database.queue.environment }
  private nonisolated var signals: RunSignals { database.signals }

  init(_ system: any TransferSystem, _ database: WorkerDatabase, _ path: any NetworkPathSource) {
    (self.system, self.database, self.path) = (system, database, path)
  }

  /// A run begins, and knows of none.
  func begin() { (handedOver, beginning, refusedAnswers) = ([:], [:], [:]) }

  /// Whether one goes on in this process alone.
  var isCarrying: Bool {
    system.endsWithProcess && handedOver.keys.contains { refusedAnswers[$0] == nil }
  }

  /// Why the first answer is not stored that the app refuses.
  var refusal: (any Error)? { refusedAnswers.min { $0.key < $1.key }?.value }

  /// What a job's row says of a transfer; one that is to be handed over is this run's from now on.
  func transfer(
    _ name: String, _ length: Duration, of claim: Claim, _ credential: CredentialMark?
  ) async throws -> JobTransfers.Standing {
    let environment = environment
    let standing = try await database.write {
      try $0.transfers.begin(name, length, of: claim, credential, environment, sight: sight)
    }
    switch standing {
    case .begun(let id):
      (handedOver[id], beginning[id]) = (handedOver[id] ?? path.path, false)
    case .late(let id, _): await forget(id)
    case .done, .refused: break
    }
    return standing
  }

  /// Lets go of a transfer that was not handed over.
  func keep(_ id: String) async {
    handedOver[id] = nil
    await confirm(id)
  }

  /// It is handed over, or was not: what came of it meanwhile can be forgotten, and is
  /// not begun again.
  func confirm(_ id: String) async {
    if beginning.removeValue(forKey: id) ?? false { await forget(id) }
  }

  /// As a run begins, compares what the system has with what rows want: what it lost is for its job
  /// to begin again, and what nobody wants is cancelled.
  func compare() async throws {
    let held = await system.ids()
    let wanted = try await database.write { rows in
      let wanted = try rows.transfers.wanted()
      for one in wanted
      where one.isAwaited && !held.contains(one.id) && !Planted.isActive(.lostUploadAwaited) {
        try rows.free(one.job, at: environment.now)
      }
      return Set(wanted.map(\.id))
    }
    // Of one from an earlier run nobody saw through which networks it went.
    for id in held { handedOver[id] = handedOver[id] ?? .unseen(as: path.path) }
    for id in held.subtracting(wanted).sorted() { await forget(id) }
  }

  /// Cancels what was handed over and no row wants any more.
  func cancelUnwanted() async throws {
    if handedOver.isEmpty || Planted.isActive(.uploadNotWithdrawn) { return }
    let ids = Set(handedOver.keys)
    let wanted = Set(try await database.read { try $0.transfers.wanted(of: ids) }.map(\.id))
    for id in ids.subtracting(wanted).sorted() {
      await forget(id)
      signals.wake()
    }
  }

  /// - Parameter commits: of any queue of the database, in this process: a job may
  ///   have been cancelled.
  func followWithdrawals(_ commits: AsyncStream<Void>) async {
    for await _ in commits {
      do {
        try await cancelUnwanted()
      } catch {
        if !Task.isCancelled { signals.fail(error) }
      }
    }
  }

  /// Takes answers until the task is cancelled.
  nonisolated func run() async { await system.run { await self.take($0) } }

  /// Stores an answer, and only then lets the system forget it.
  private func take(_ news: TransferNews) async {
    let environment = environment
    var backoff = environment.unreached
    var isFirst = true
    if Planted.isActive(.answerForgottenEarly) { await forget(news.id) }
    do {
      while true {
        do {
          try await database.transaction { rows in
            try rows.take(news, sight(news.id), at: environment.now)
            try CrashPoint.reach(.uploadBeforeStore)
          }
          break
        } catch let refusal as OfApp {
          // What an observer of the app's refuses today it may take tomorrow; the system keeps it.
          if !isFirst {
            refusedAnswers[news.id] = refusal.error
            // Who drains waits for it no more.
            if system.endsWithProcess { signals.wake() }
          }
          isFirst = false
          try await environment.sleep(for: backoff.next(jitter: environment.jitter()))
        }
      }
      try CrashPoint.reach(.uploadAfterStore)
      if Planted.isActive(.answerStoredApart), let job = TransferID(news.id)?.job {
        try await database.write { try $0.free(job, at: environment.now) }
      }
      await forget(news.id)
    } catch {
      if !Task.isCancelled { signals.fail(error) }
    }
    signals.wake()
  }

  private func forget(_ id: String) async {
    // Forgotten before, it would be new to the system.
    if beginning[id] != nil {
      beginning[id] = true
      return
    }
    await system.forget(id)
    (handedOver[id], refusedAnswers[id]) = (nil, nil)
  }

  private func sight(_ id: String) -> TransferSight {
    if let begun = handedOver[id], begun.hasRoute, begun == path.path { return .steady }
    return system.endsWithProcess ? .unsteady : .unseen
  }
}

extension NetworkPath {
  /// What nobody has seen is no network that stayed the same, and no other one.
  static func unseen(as now: NetworkPath) -> NetworkPath {
    NetworkPath(hasRoute: false, generation: now.generation)
  }
}
