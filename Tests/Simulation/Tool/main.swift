#if Server && Rehearsal
import Foundation
import SimulationKit
import TernCore

// Replays seeds: one prints a line an event; a range prints a line a violation. With a planted
// bug's name behind it a range ends at the first seed that catches the bug.
let words = CommandLine.arguments.dropFirst()
let isOfJobs = words.first == "jobs"
let bugs = isOfJobs ? Planted.ofJobs : Planted.ofSync
let bug = words.compactMap(Planted.init(rawValue:)).first
let seeds = words.compactMap(UInt64.init)
guard let first = seeds.first, let last = seeds.dropFirst().first ?? seeds.first, first <= last
else {
  let names = bugs.map(\.rawValue).joined(separator: "|")
  print("usage: tern-sim [jobs] SEED [LAST] [\(names)]")
  exit(2)
}
let isPrinting = first == last
var (failures, count) = (0, 0)
try Planted.with(bug) {
  for seed in first...last where bug == nil || failures == 0 {
    let violation: String?
    if isOfJobs {
      let outcome = try JobSimulation.run(seed: seed, isPrinting: isPrinting)
      violation = outcome.violation
      count += outcome.jobs
    } else {
      let outcome = try Simulation.run(seed: seed, isPrinting: isPrinting)
      violation = outcome.violation
      count += outcome.operations
    }
    guard let violation else { continue }
    failures += 1
    print("seed \(seed): \(violation)")
  }
}
print(
  "\(last - first + 1) seeds, \(count) \(isOfJobs ? "jobs" : "operations"), \(failures) violations")
exit((failures == 0) == (bug == nil) ? 0 : 1)
#else
print("tern-sim: build with --traits Server,Rehearsal")
#endif
