#if Server && Rehearsal
import TernCore

/// Finds a smaller script that still breaks the same invariant, by running scripts of which ever
/// smaller parts were left out.
///
/// - Source: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002).
package struct Shrinker {
  package private(set) var script: SimulationScript
  /// How the smallest script fails.
  package private(set) var violation: String
  /// How many scripts were run.
  package private(set) var runs = 0
  private let deadline: ContinuousClock.Instant
  private let run: (SimulationScript) -> String?

  /// - Parameters:
  ///   - limit: after so long what was found is good enough.
  ///   - run: the violation of a script, or `nil`.
  /// - Returns: `nil` where the script keeps every invariant.
  package static func shrink(
    _ script: SimulationScript, within limit: Duration,
    _ run: @escaping (SimulationScript) -> String? = { Simulation.run($0).violation }
  ) -> Shrinker? {
    guard let violation = run(script) else { return nil }
    var shrinker = Shrinker(script, violation, .now + limit, run)
    shrinker.shrink()
    return shrinker
  }

  private init(
    _ script: SimulationScript, _ violation: String, _ deadline: ContinuousClock.Instant,
    _ run: @escaping (SimulationScript) -> String?
  ) {
    (self.script, self.violation, self.deadline, self.run) = (script, violation, deadline, run)
  }

  private var isOver: Bool { ContinuousClock.now >= deadline }

  private mutating func shrink() {
    var before: SimulationScript?
    while before != script, !isOver {
      before = script
      leaveOutDevices()
      leaveOutSteps()
      leaveOutConditions()
      straightenDevices()
    }
  }

  /// Takes a smaller script if it fails in the same way.
  private mutating func take(_ candidate: SimulationScript) -> Bool {
    guard candidate != script, candidate.isConnected, !candidate.devices.isEmpty, !isOver else {
      return false
    }
    runs += 1
    // Of a broken invariant, one that does not run at all is no smaller form.
    guard let found = run(candidate), Self.invariant(found) == Self.invariant(violation) else {
      return false
    }
    (script, violation) = (candidate, found)
    return true
  }

  private static func invariant(_ violation: String) -> Substring {
    violation.prefix(while: { $0 != ":" })
  }

  // MARK: - What is left out

  private mutating func leaveOutDevices() {
    for device in script.devices.map(\.index).reversed() {
      var smaller = script
      smaller.devices.removeAll { $0.index == device }
      smaller.steps.removeAll { $0.actor == .device(device) || $0.kind.names(device) }
      let servers = Set(smaller.servers)
      smaller.steps.removeAll {
        if case .server(let server) = $0.actor { !servers.contains(server) } else { false }
      }
      _ = take(smaller)
    }
  }

  /// Half of the steps, quarters, and so on to single ones.
  private mutating func leaveOutSteps() {
    var size = max(1, script.steps.count / 2)
    while !isOver {
      var start = 0
      while start < script.steps.count, !isOver {
        var smaller = script
        smaller.steps.removeSubrange(start..<min(start + size, script.steps.count))
        if !take(smaller) { start += size }
      }
      if size == 1 { return }
      size = max(1, size / 2)
    }
  }

  private mutating func leaveOutConditions() {
    for rate in SimulationScript.Rate.allCases {
      var smaller = script
      smaller.rates[rate] = nil
      _ = take(smaller)
    }
    for condition in SimulationScript.Condition.allCases {
      var smaller = script
      smaller.conditions.remove(condition)
      _ = take(smaller)
    }
  }

  /// Clocks that are right, no folder, the first server alone.
  private mutating func straightenDevices() {
    for index in script.devices.indices {
      var smaller = script
      smaller.devices[index].clock = 0
      _ = take(smaller)
    }
    for index in script.devices.indices {
      var smaller = script
      smaller.devices[index].hasFolder = false
      _ = take(smaller)
    }
    var smaller = script
    for index in smaller.devices.indices where !smaller.devices[index].servers.isEmpty {
      smaller.devices[index].servers = [0]
    }
    smaller.steps.removeAll {
      if case .server(let server) = $0.actor { server != 0 } else { false }
    }
    _ = take(smaller)
  }
}

extension SimulationScript.Kind {
  fileprivate func names(_ device: Int) -> Bool { self == .clone(device) || self == .cut(device) }
}
#endif
