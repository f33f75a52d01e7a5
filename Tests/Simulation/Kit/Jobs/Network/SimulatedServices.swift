#if Server && Rehearsal
import Foundation
import Tern
import TernTesting

/// The services that jobs call: they do what they are asked for once per key, fail, ask for pauses,
/// and send elsewhere.
final class SimulatedServices: @unchecked Sendable {
  // Sendable, because only the seeded executor's one thread ever touches it.
  static let names = ["recogniser", "translator", "local"]
  /// On this very machine: the network is no excuse for it.
  static let local = "local"

  /// The translator is not asked over TLS, so that a portal can answer for it.
  static func url(_ service: String, isSecure: Bool = false) -> String {
    switch service {
    case local: "http://localhost:8080"
    case "translator" where !isSecure: "http://translator.example"
    default: "https://\(service).example"
    }
  }

  private struct State {
    /// Nobody answers before.
    var downUntil: Int64 = 0
    /// It wants no requests before.
    var pausedUntil: Int64 = 0
    var saysWhen = true
  }

  private let plan: JobPlan
  private let clock: VirtualClock
  private let trace: SimulationTrace
  private var generator: SeededGenerator
  /// Seconds since 1970 as the world begins. No device's clock says the same.
  private let epoch: Int
  private var states: [String: State] = [:]
  /// What was done, by key.
  private var numbers: [String: Int] = [:]
  var isFaulty = true

  init(plan: JobPlan, clock: VirtualClock, trace: SimulationTrace, seed: UInt64) {
    (self.plan, self.clock, self.trace) = (plan, clock, trace)
    generator = SeededGenerator(seed: seed)
    epoch = Int.random(in: 900_000_000...2_000_000_000, using: &generator)
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

  func happens(_ probability: Double) -> Bool { isFaulty && generator.happens(probability) }

  // MARK: - Requests

  /// What a service answers to a request that has reached it.
  func answer(_ call: SimulatedCall) -> SimulatedAnswer {
    if let state = states[call.service], state.pausedUntil > clock.milliseconds {
      let left = Int(state.pausedUntil - clock.milliseconds)
      return .later(
        state.saysWhen ? (left + 999) / 1000 : nil, now: epoch + Int(clock.milliseconds / 1000),
        using: &generator)
    }
    if happens(plan.permanentFailures) { return .permanent(using: &generator) }
    if happens(plan.failures) { return .failed(using: &generator) }
    if call.isFirst, call.purpose != .upload, happens(plan.redirects) { return redirect(call) }
    return switch call.purpose {
    case .work, .upload: .number(number(call.key ?? ""))
    case .events: SimulatedAnswer(headers: ["Content-Type": "text/event-stream; charset=utf-8"])
    case .health: SimulatedAnswer(status: 204)
    }
  }

  private func redirect(_ call: SimulatedCall) -> SimulatedAnswer {
    if call.purpose == .events, !call.isLocal, generator.oneIn(2) {
      let status = [301, 302, 303, 307, 308].randomElement(using: &generator)!
      return .redirect(to: "https://elsewhere.example\(call.place)", status)
    }
    return .redirect(to: "/moved\(call.place)", generator.oneIn(2) ? 307 : 308)
  }

  /// Another one for each key, so that one effect is told from another, and the same for the same.
  func number(_ key: String) -> Int {
    let number = numbers[key] ?? numbers.count + 1
    numbers[key] = number
    return number
  }
}
#endif
