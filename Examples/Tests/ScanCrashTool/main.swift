#if Rehearsal
import Foundation
import ScanCrashKit

// Kills processes of `scan` at every named point and at as many random moments as it is told, while
// their service does wrong all that it knows to.
let words = Array(CommandLine.arguments.dropFirst())
let count = words.first.flatMap { Int($0) }
let seed = words.count == 2 ? UInt64(words[1]) : 1
guard (1...2).contains(words.count), let seed, count ?? 0 >= 0 else {
  print("usage: scan-crash KILLS [SEED] | scan-crash 'POINT:COUNT, MISBEHAVIOUR'")
  exit(2)
}
let matrix = ScanCampaign.matrix(of: ScanKill.boundaries + ScanKill.laterBoundaries)
var tally = await (count == nil ? matrix.filtered(by: words[0]) : matrix).run()
if let count { tally.add(await ScanCampaign.atRandom(count, seed: seed).run()) }
for violation in tally.violations { print(violation) }
print(tally.table)
exit(tally.violations.isEmpty ? 0 : 1)
#else
print("build with --traits Rehearsal")
#endif
