#if Server && Rehearsal
import SimulationKit
import Testing
import TernCore

@Suite struct ScriptTests {
  @Test func `a script is read as it was written`() throws {
    for seed in UInt64(1)...300 {
      let script = SimulationScript(seed: seed)
      #expect(try SimulationScript(text: script.text) == script)
    }
  }

  @Test(arguments: [
    "simulation 1\nkeys 3", "simulation 1\ndevice 0",
    "device x space 0 servers 0 version 1 clock 0",
    "simulation 1\ndevice 0 space 0 servers 0 version 1 clock 0\n12 device 0 fly 3",
    // Two devices that never hear of each other.
    """
    device 0 space 0 servers 0 version 1 clock 0
    device 1 space 0 servers 1 version 1 clock 0
    """,
  ])
  func `a text that is no script is refused`(_ text: String) {
    #expect(throws: SimulationScript.FormatError.self) { try SimulationScript(text: text) }
  }

  /// Found by the command that a failing seed is shown with, and run again from its text.
  @Test(arguments: [Planted.counterCountedTwice, .deferredForgotten])
  func `a failing script shrinks to a fifth and fails as before`(_ bug: Planted) throws {
    let caught = try #require(try PlantedTable.firstCatch(of: bug))
    try Planted.with(bug) {
      let whole = SimulationScript(seed: caught.seed)
      let found = try #require(try Shrinker.shrink(whole, within: .seconds(60)))
      let text = found.script.text
      print("\(bug.rawValue): \(whole.lineCount) lines to \(found.script.lineCount)\n\(text)")
      #expect(found.script.lineCount * 5 < whole.lineCount)
      let again = try Simulation.run(try SimulationScript(text: text))
      // What differs is told in no order.
      #expect(found.violation.hasPrefix(caught.invariant))
      #expect(again.violation?.hasPrefix(caught.invariant) == true)
    }
    // It is the bug that makes it fail.
    let without = try #require(
      try Planted.with(bug) { try Shrinker.shrink(.init(seed: caught.seed), within: .zero) })
    #expect(try Simulation.run(without.script).violation == nil)
  }

  @Test func `a script that keeps every invariant does not shrink`() throws {
    #expect(try Shrinker.shrink(SimulationScript(seed: 1), within: .seconds(60)) == nil)
  }
}

extension SimulationScript {
  fileprivate var lineCount: Int { text.split(separator: "\n").count }
}
#endif
