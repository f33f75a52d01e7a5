#if Server && Rehearsal
import Rehearsals
import SimulationKit
import Testing
import TernCore

@Suite(.serialized) struct JobSimulationTests {
  @Test func `seeds of jobs keep every invariant, and every twentieth repeats`() throws {
    let seeds = Rehearsal.seeds(1...500, short: 30)
    var (jobs, sends, crashes, corrections) = (0, 0, 0, 0)
    for seed in seeds {
      let outcome = try JobSimulation.run(seed: seed)
      try #require(outcome.violation == nil, "script/sim jobs \(seed)")
      jobs += outcome.jobs
      sends += outcome.sends
      crashes += outcome.crashes
      corrections += outcome.corrections
      if seed % 20 == 0 { #expect(try JobSimulation.run(seed: seed) == outcome) }
    }
    // The worlds are not empty ones.
    let share = seeds.count
    #expect(
      jobs > 2 * share && sends > 2 * share && crashes > share / 5 && corrections > share / 25)
    print(
      "seeds \(seeds), \(jobs) jobs, \(sends) requests, \(crashes) crashes, "
        + "\(corrections) corrections of the path, no violation")
  }

  /// 7 and 36: a gate that a checkpoint opened was not noticed. 163 and 198: a job that ran while the
  /// wall clock was set back waited for its old time. 1073: a wait was cut short by a
  /// worker that had waited for the database. 569: the model took a handler for done that returned as
  /// its worker told it to end.
  @Test(arguments: [7, 36, 163, 198, 569, 1073, 764_905_029] as [UInt64])
  func `a seed that failed once keeps every invariant`(_ seed: UInt64) throws {
    #expect(try JobSimulation.run(seed: seed).violation == nil)
  }

  @Test(arguments: Planted.ofJobs.rehearsed(oneOf: 14))
  func `a planted bug of jobs is caught within a thousand seeds`(_ bug: Planted) throws {
    let caught = try #require(try bug.caught())
    print("\(bug.rawValue) caught by seed \(caught.seed): \(caught.violation)")
  }
}
#endif
