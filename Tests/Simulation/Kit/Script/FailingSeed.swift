#if Server && Rehearsal
/// What is printed of a seed that breaks an invariant.
package enum FailingSeed {
  /// The violation, and the smallest script that was found within a minute to break the same
  /// invariant: `script/sim FILE` runs it again.
  package static func describe(_ seed: UInt64) throws -> String {
    let script = SimulationScript(seed: seed)
    guard let found = try Shrinker.shrink(script, within: .seconds(60)) else {
      return "seed \(seed) keeps every invariant"
    }
    return """
      # seed \(seed), from \(script.steps.count) steps to \(found.script.steps.count) in \
      \(found.runs) runs; for script/sim FILE:
      # \(found.violation)
      \(found.script.text)
      """
  }
}
#endif
