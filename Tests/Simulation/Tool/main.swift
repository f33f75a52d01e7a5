#if Server && Rehearsal
import Foundation
import SimulationKit

// Replays seeds: one prints a line an event; a range prints a line a seed.
let arguments = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
guard let first = arguments.first else {
  print("usage: tern-sim SEED [LAST]")
  exit(2)
}
let last = arguments.dropFirst().first ?? first
var failures = 0
for seed in first...last {
  let outcome = try Simulation.run(seed: seed, isPrinting: first == last)
  if let violation = outcome.violation {
    failures += 1
    print("seed \(seed): \(violation)")
  } else if first == last {
    print("seed \(seed): \(outcome.events) events, \(outcome.operations) operations, no violation")
  }
}
print("\(last - first + 1) seeds, \(failures) violations")
exit(failures == 0 ? 0 : 1)
#else
print("build with --traits Server,Rehearsal")
#endif
