#if Server && Rehearsal
import Rehearsals
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
  @Test(arguments: [Planted.counterCountedTwice, .deferredForgotten].rehearsed(oneOf: 2))
  func `a failing script shrinks to a fifth and fails as before`(_ bug: Planted) throws {
    let caught = try #require(try bug.caught())
    try Planted.with(bug) {
      let whole = SimulationScript(seed: caught.seed)
      let found = try #require(Shrinker.shrink(whole, within: .seconds(60)))
      let text = found.script.text
      print("\(bug.rawValue): \(whole.lineCount) lines to \(found.script.lineCount)\n\(text)")
      #expect(found.script.lineCount * 5 < whole.lineCount)
      let again = Simulation.run(try SimulationScript(text: text))
      // What differs is told in no order.
      #expect(found.violation.hasPrefix(caught.invariant))
      #expect(again.violation?.hasPrefix(caught.invariant) == true)
    }
    // It is the bug that makes it fail.
    let without = try #require(
      Planted.with(bug) { Shrinker.shrink(.init(seed: caught.seed), within: .zero) })
    #expect(Simulation.run(without.script).violation == nil)
  }

  @Test func `what is printed of a failing seed names it, and is a script that fails again`() throws
  {
    let bug = Planted.counterCountedTwice
    let caught = try #require(try bug.caught())
    try Planted.with(bug) {
      let text = FailingSeed.describe(caught.seed, within: .seconds(1))
      #expect(text.hasPrefix("# seed \(caught.seed), from "))
      let again = Simulation.run(try SimulationScript(text: text))
      #expect(again.violation?.hasPrefix("\(caught.invariant):") == true)
    }
    #expect(FailingSeed.describe(caught.seed) == "seed \(caught.seed) keeps every invariant")
  }

  @Test func `an error out of a check is printed with its seed, and its script shrinks`() throws {
    struct Unreadable: Error {}
    let run: (SimulationScript) -> String? = {
      Simulation.run($0, alsoChecking: { throw Unreadable() }).violation
    }
    let text = FailingSeed.describe(3, within: .seconds(20), run)
    #expect(text.hasPrefix("# seed 3, from "))
    #expect(text.contains("\n# failed: Unreadable()\n"))
    let script = try SimulationScript(text: text)
    #expect(script.lineCount * 5 < SimulationScript(seed: 3).lineCount)
    #expect(run(script) == "failed: Unreadable()")
  }

  @Test func `an error of several lines leaves a script that can be read`() throws {
    let script = SimulationScript(seed: 7)
    let text = FailingSeed.describe(7, within: .zero) { _ in
      "failed: SQLite error 1 - while executing `SELECT *\nFROM nowhere`"
    }
    #expect(text.contains("\n# failed: SQLite error 1 - while executing `SELECT * FROM nowhere`\n"))
    #expect(try SimulationScript(text: text) == script)
  }

  @Test func `of seeds that throw the least is named`() throws {
    struct Thrown: Error {}
    let error = #expect(throws: SeedError.self) {
      try SeedSweep.run(1...40) { if $0 % 7 == 5 { throw Thrown() } }
    }
    #expect(error?.seed == 5)
    #expect(error?.description.hasPrefix("seed 5 failed: Thrown") == true)
  }

  @Test func `a script that keeps every invariant does not shrink`() {
    #expect(Shrinker.shrink(SimulationScript(seed: 1), within: .seconds(60)) == nil)
  }
}

extension SimulationScript {
  fileprivate var lineCount: Int { text.split(separator: "\n").count }
}
#endif
