import GRDB
import Synchronization
import Tern
import TernJobs

/// The attempts that are under way, and what is planned for them. Handlers run within it.
final class AttemptWatch: Sendable {
  private struct State {
    var activities: [ObjectIdentifier: Activity] = [:]
    var begun = 0
    var plans: [JobPlan] = []
    var isDead = false
  }

  private let state = Mutex(State())
  private let network: ScriptedPathSource

  init(_ network: ScriptedPathSource) { self.network = network }

  var activities: [Activity] {
    state.withLock { $0.activities.values.sorted { $0.name < $1.name } }
  }

  /// How many attempts have begun so far, beside those that reached nobody.
  var begun: Int { state.withLock { $0.begun } }

  /// How many they may be, where so many more may begin.
  func bound(_ limit: Int) -> Int {
    let begun = begun
    return begun + min(limit, .max - begun)
  }

  func surround(_ kind: String, _ context: JobContext, _ work: JobHandlers.Work) async throws {
    state.withLock { $0.begun += 1 }
    let generation = network.path.generation
    do {
      try await attempt(kind, context, work)
    } catch let error as any AdvisingError {
      // It waits for a while then, and so for no longer than time may pass; but not when the
      // network is another.
      let path = network.path
      if error.advice.isOfNetwork(path), path.generation == generation {
        state.withLock { $0.begun -= 1 }
      }
      throw error
    }
  }

  private func attempt(
    _ kind: String, _ context: JobContext, _ work: JobHandlers.Work
  ) async throws {
    try await during("job \(context.id) (\(kind))") {
      let id = context.id
      let handler = AttemptPoint.Handler { try self.reach(JobPoint($0), kind, id) }
      try await AttemptPoint.$handler.withValue(handler) {
        try reach(.start, kind, id)
        try await work(context)
        try reach(.end, kind, id)
      }
    }
  }

  func during<T>(_ name: String, _ body: () async throws -> T) async rethrows -> T {
    let activity = Activity(name)
    state.withLock { $0.activities[ObjectIdentifier(activity)] = activity }
    defer { state.withLock { _ = $0.activities.removeValue(forKey: ObjectIdentifier(activity)) } }
    return try await Activity.$current.withValue(activity) { try await body() }
  }

  // MARK: - What is planned

  func plan(_ plan: JobPlan) { state.withLock { $0.plans.append(plan) } }

  var plans: [JobPlan] { state.withLock { $0.plans } }

  private func reach(_ point: JobPoint, _ kind: String, _ job: JobID) throws {
    let event = state.withLock { state -> JobPlan.Event? in
      if state.isDead { return .death }
      let index = state.plans.firstIndex { $0.kind == kind && $0.point == point }
      guard let index else { return nil }
      state.plans[index].count -= 1
      let event = state.plans[index].event
      if state.plans[index].count == 0 { state.plans.remove(at: index) }
      if case .death = event { state.isDead = true }
      return event
    }
    switch event {
    case .failure(let error)?: throw error
    case .death?: throw ProcessDied()
    case nil: break
    }
  }

  // MARK: - Death

  var isDead: Bool { state.withLock { $0.isDead } }

  func die() { state.withLock { $0.isDead = true } }

  func revive() { state.withLock { $0.isDead = false } }
}

extension FailureAdvice {
  /// Whether it waits for a network then, and costs no attempt.
  fileprivate func isOfNetwork(_ path: NetworkPath) -> Bool {
    switch self {
    case .unreachable: true
    case .interrupted(let isLocal): !isLocal && !path.hasRoute
    case .failed, .permanent, .limited: false
    }
  }
}

/// Lets no transaction of a dead process pass.
final class DeathWatch: TransactionObserver, Sendable {
  private let attempts: AttemptWatch

  init(_ attempts: AttemptWatch) { self.attempts = attempts }

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
  func databaseDidChange(with event: DatabaseEvent) {}
  func databaseWillCommit() throws { if attempts.isDead { throw ProcessDied() } }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
