#if Server && Rehearsal
import Foundation
import SimulationKit
import TernCore

// Replays seeds: one prints a line an event; a range prints a line a violation. With a planted
// bug's name behind it a range ends at the first seed that catches the bug by its own checker. A file is a
// script.
var words = Array(CommandLine.arguments.dropFirst())
let bug = words.compactMap(Planted.init(rawValue:)).first
words.removeAll { $0 == bug?.rawValue }
switch words.first {
case "jobs": exit(try replayJobs(words.dropFirst().compactMap(UInt64.init), bug))
case "bugs": try PlantedTable.rewrite(words.dropFirst().first ?? "Docs/Testing.md")
case "shrink": exit(try shrink(words.dropFirst().compactMap(UInt64.init), bug))
case let path? where UInt64(path) == nil:
  let script = try SimulationScript(text: String(contentsOfFile: path, encoding: .utf8))
  let outcome = Planted.with(bug) { Simulation.run(script, isPrinting: true) }
  print(outcome.violation ?? "no violation")
  exit((outcome.violation == nil) == (bug == nil) ? 0 : 1)
default: exit(try replay(words.compactMap(UInt64.init), bug))
}

func range(_ seeds: [UInt64]) -> ClosedRange<UInt64> {
  guard let first = seeds.first, let last = seeds.dropFirst().first ?? seeds.first, first <= last
  else {
    print("usage: tern-sim [jobs|shrink] SEED [LAST] [BUG], tern-sim SCRIPT [BUG], tern-sim bugs")
    print("bugs: \(Planted.allCases.map(\.rawValue).joined(separator: ", "))")
    exit(2)
  }
  return first...last
}

func replay(_ seeds: [UInt64], _ bug: Planted?) throws -> Int32 {
  let seeds = range(seeds)
  let outcomes = try SeedSweep.run(
    seeds, bug: bug, until: { isCaught($0.violation, bug) },
    { seed in
      let outcome = Simulation.run(seed: seed, isPrinting: seeds.count == 1)
      if let violation = outcome.violation { show("seed \(seed): \(violation)") }
      return outcome
    })
  if bug == nil, outcomes.count > 1 { print(Tally(outcomes.map(\.tally)).table) }
  return report(
    outcomes.map(\.violation), bug,
    "\(outcomes.reduce(0) { $0 + $1.operations }) operations")
}

func replayJobs(_ seeds: [UInt64], _ bug: Planted?) throws -> Int32 {
  let seeds = range(seeds)
  let outcomes = try SeedSweep.run(
    seeds, bug: bug, until: { isCaught($0.violation, bug) },
    { seed in
      let outcome = try JobSimulation.run(seed: seed, isPrinting: seeds.count == 1)
      if let violation = outcome.violation { show("seed \(seed): \(violation)") }
      return outcome
    })
  return report(
    outcomes.map(\.violation), bug, "\(outcomes.reduce(0) { $0 + $1.jobs }) jobs")
}

func isCaught(_ violation: String?, _ bug: Planted?) -> Bool {
  if let bug, let violation { bug.checker.says(violation) } else { false }
}

/// At once, also into a pipe.
func show(_ line: String) {
  print(line)
  fflush(nil)
}

func report(_ violations: [String?], _ bug: Planted?, _ count: String) -> Int32 {
  let failures = violations.count { $0 != nil }
  print("\(violations.count) seeds, \(count), \(failures) violations")
  return (failures == 0) == (bug == nil) ? 0 : 1
}

/// Prints the smallest script that fails as the first of these seeds that does.
func shrink(_ seeds: [UInt64], _ bug: Planted?) throws -> Int32 {
  let seeds = range(seeds)
  let outcomes = try SeedSweep.run(
    seeds, bug: bug, until: { $0 != nil }, { Simulation.run(seed: $0).violation })
  guard let violation = outcomes.last, violation != nil else {
    print("\(outcomes.count) seeds, no violation")
    return 1
  }
  let seed = seeds.lowerBound + UInt64(outcomes.count - 1)
  print(Planted.with(bug) { FailingSeed.describe(seed) })
  return 0
}
#else
print("tern-sim: build with --traits Server,Rehearsal")
#endif
