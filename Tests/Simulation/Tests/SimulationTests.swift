#if Server && Rehearsal
import SimulationKit
import Testing
import TernCore

@Suite(.serialized) struct SimulationTests {
  /// Of these failed once, each by what a comment at its mending says: 21, 60, 430, 589.
  @Test func `2000 seeds keep every invariant, and every twentieth repeats`() throws {
    let outcomes = try SeedSweep.run(
      1...2000, until: { $0.violation != nil },
      { seed in
        let outcome = try Simulation.run(seed: seed)
        if seed % 20 == 0 { #expect(try Simulation.run(seed: seed) == outcome, "seed \(seed)") }
        return outcome
      })
    if outcomes.last?.violation != nil {
      Issue.record("\(try FailingSeed.describe(UInt64(outcomes.count)))")
    }
    let operations = outcomes.reduce(0) { $0 + $1.operations }
    // The worlds are not empty ones.
    #expect(operations > 10 * outcomes.count)
    print("\(outcomes.count) seeds, \(operations) operations")
  }

  /// A server that was put back to before all that a device's log no longer has.
  @Test func `a script that failed once keeps every invariant`() throws {
    let script = try SimulationScript(
      text: """
        simulation 589
        keys 3
        deletes updateWins
        device 0 space 0 servers 0 version 2 clock 0
        rate deviceCrash 0.0041672158681911875
        rate answerLost 0.12164054069840693
        condition trims
        4976 server 0 backUp 3901236159
        5143 device 0 write 2072850305
        7127 device 0 write 3813665815
        18868 server 0 restore 3162269393
        """)
    #expect(try Simulation.run(script).violation == nil)
  }

  @Test(arguments: Planted.ofSync)
  func `a planted bug is caught within a thousand seeds`(_ bug: Planted) throws {
    let caught = try #require(try PlantedTable.firstCatch(of: bug))
    print("\(bug.rawValue) caught by seed \(caught.seed): \(caught.violation)")
  }
}
#endif
