#if Server && Rehearsal && (os(Linux) || os(macOS))
import CrashKit
import Foundation

// Kills real processes at every named point and at as many random moments as it is told.
let arguments = CommandLine.arguments.dropFirst()
guard (1...2).contains(arguments.count), let count = Int(arguments[1]), count >= 0,
  let seed = arguments.count == 1 ? 1 : UInt64(arguments[2])
else {
  print("usage: tern-crash KILLS [SEED]")
  exit(2)
}
var tally = CrashCampaign.atEveryPoint(seed: seed).run()
tally.add(CrashCampaign.atRandom(count, seed: seed).run())
for violation in tally.violations { print(violation) }
print(tally.table)
exit(tally.violations.isEmpty ? 0 : 1)
#else
print("build with --traits Server,Rehearsal")
#endif
