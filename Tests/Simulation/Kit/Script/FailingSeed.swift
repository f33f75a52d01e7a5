#if Server && Rehearsal
/// What is printed of a seed that breaks an invariant.
package enum FailingSeed {
  /// The violation, and the smallest script that was found in time to break the same invariant:
  /// `script/sim FILE` runs it again.
  ///
  /// - Parameter run: the violation of a script, or `nil`.
  package static func describe(
    _ seed: UInt64, within limit: Duration = .seconds(60),
    _ run: @escaping (SimulationScript) -> String? = { Simulation.run($0).violation }
  ) -> String {
    let script = SimulationScript(seed: seed)
    guard let found = Shrinker.shrink(script, within: limit, run) else {
      return "seed \(seed) keeps every invariant"
    }
    // An error can have SQL of several lines, of which each would be one of the script.
    let violation = found.violation.split(whereSeparator: \.isNewline).joined(separator: " ")
    return """
      # seed \(seed), from \(script.steps.count) steps to \(found.script.steps.count) in \
      \(found.runs) runs; for script/sim FILE:
      # \(violation)
      \(found.script.text)
      """
  }
}
#endif
