#if Server && Rehearsal
import Tern
import TernTesting

/// The services that jobs call: they fail, ask for pauses, are silent, and lose answers.
final class SimulatedServices: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  static let names = ["recogniser", "translator", "local"]
  /// On this very machine: the network is no excuse for it.
  static let local = "local"

  private struct State {
    /// Nobody answers before.
    var downUntil: Int64 = 0
    /// It wants no requests before.
    var pausedUntil: Int64 = 0
    var saysWhen = true
  }

  private let plan: JobPlan
  private let clock: VirtualClock
  private let path: SimulatedPath
  private let trace: SimulationTrace
  private var generator: SeededGenerator
  private var states: [String: State] = [:]
  private var answers = 0
  private(set) var sends = 0
  var isFaulty = true

  init(
    plan: JobPlan, clock: VirtualClock, path: SimulatedPath, trace: SimulationTrace, seed: UInt64
  ) {
    (self.plan, self.clock, self.path, self.trace) = (plan, clock, path, trace)
    generator = SeededGenerator(seed: seed)
  }

  // MARK: - Faults

  func breakDown(_ service: String, for milliseconds: Int64) {
    trace.note("\(service) is down for \(milliseconds) ms")
    states[service, default: State()].downUntil = clock.milliseconds + milliseconds
  }

  func pause(_ service: String, for milliseconds: Int64, saysWhen: Bool) {
    trace.note("\(service) wants no requests for \(milliseconds) ms")
    states[service, default: State()].pausedUntil = clock.milliseconds + milliseconds
    states[service]?.saysWhen = saysWhen
  }

  func heal() {
    isFaulty = false
    states = [:]
  }

  func isDown(_ service: String) -> Bool {
    (states[service]?.downUntil ?? 0) > clock.milliseconds
  }

  // MARK: - Requests

  /// - Parameter isWanted: throws when nobody waits for it any more.
  /// - Returns: another number for each call, so that a stored answer is told from a later one.
  /// - Throws: ``ServiceFailure``; `CancellationError`.
  func call(
    _ service: String, _ what: String, while isWanted: () throws -> Void
  ) async throws -> Int {
    try isWanted()
    sends += 1
    let (isLocal, before) = (service == Self.local, path.path)
    trace.note("\(what) → \(service)")
    do {
      guard isLocal || before.hasRoute else { throw ServiceFailure(.unreachable, "no route") }
      try await travel(isLocal, before, isWanted)
      try refuse(service)
      if happens(plan.silences) {
        try await clock.sleep(for: .milliseconds(Int.random(in: 2000...15_000, using: &generator)))
        throw ServiceFailure(.interrupted(isLocal: isLocal), "silence")
      }
      answers += 1
      let answer = answers
      try await travel(isLocal, before, isWanted)
      if happens(plan.lostAnswers) {
        throw ServiceFailure(.interrupted(isLocal: isLocal), "the answer was lost")
      }
      trace.note("\(what) ← \(answer)")
      return answer
    } catch let failure as ServiceFailure {
      trace.note("\(what) ← \(failure)")
      throw failure
    }
  }

  /// What a service answers to a request that takes no time.
  ///
  /// - Throws: ``ServiceFailure``.
  func callAtOnce(_ service: String, _ what: String) throws -> Int {
    sends += 1
    guard service == Self.local || path.path.hasRoute else {
      throw ServiceFailure(.unreachable, "no route")
    }
    try refuse(service)
    answers += 1
    trace.note("\(what) → \(service) ← \(answers)")
    return answers
  }

  private func travel(
    _ isLocal: Bool, _ before: NetworkPath, _ isWanted: () throws -> Void
  ) async throws {
    try await clock.sleep(for: .milliseconds(Int.random(in: 1...400, using: &generator)))
    try isWanted()
    if !isLocal, path.path != before {
      throw ServiceFailure(.interrupted(isLocal: false), "the network changed")
    }
  }

  private func refuse(_ service: String) throws {
    if isDown(service) { throw ServiceFailure(.unreachable, "nobody answers") }
    if let state = states[service], case let left = state.pausedUntil - clock.milliseconds, left > 0
    {
      throw ServiceFailure(
        .limited(delay: state.saysWhen ? .seconds((left + 999) / 1000) : nil), "later")
    }
    if happens(plan.permanentFailures) { throw ServiceFailure(.permanent, "never") }
    if happens(plan.failures) { throw ServiceFailure(.failed, "failed") }
  }

  private func happens(_ probability: Double) -> Bool {
    isFaulty && generator.happens(probability)
  }
}

struct ServiceFailure: AdvisingError, CustomStringConvertible {
  let advice: FailureAdvice
  let description: String

  init(_ advice: FailureAdvice, _ description: String) {
    (self.advice, self.description) = (advice, description)
  }
}
#endif
