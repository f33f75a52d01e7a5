#if Server && Rehearsal
import SimulationKit
import Testing
import TernCore

@Suite(.serialized) struct SimulationTests {
  @Test func `a thousand seeds keep every invariant, and every twentieth repeats`() throws {
    var operations = 0
    for seed in UInt64(1)...1000 {
      let outcome = try Simulation.run(seed: seed)
      try #require(outcome.violation == nil, "script/sim \(seed)")
      operations += outcome.operations
      if seed % 20 == 0 { #expect(try Simulation.run(seed: seed) == outcome) }
    }
    print("1000 seeds, \(operations) operations, no violation")
  }

  /// The server was wiped when everybody was done, and nobody had noticed when the world ended; a
  /// letter was replaced by itself, in a row that was noted twice.
  @Test(arguments: [756, 877, 942] as [UInt64])
  func `a seed that failed once keeps every invariant`(_ seed: UInt64) throws {
    #expect(try Simulation.run(seed: seed).violation == nil)
  }

  @Test(arguments: Planted.ofSync)
  func `a planted bug is caught within a thousand seeds`(_ bug: Planted) throws {
    let caught = try Planted.with(bug) { () -> (UInt64, String)? in
      for seed in UInt64(1)...1000 {
        if let violation = try Simulation.run(seed: seed).violation { return (seed, violation) }
      }
      return nil
    }
    let (seed, violation) = try #require(caught)
    print("\(bug.rawValue) caught by seed \(seed): \(violation)")
  }
}
#endif
