#if Server && Rehearsal && (os(Linux) || os(macOS))
import CrashKit
import Foundation

// Kills real processes at every named point and at as many random moments as it is told.
let arguments = Array(CommandLine.arguments.dropFirst())
let isScan = arguments.first == "scan"
let words = isScan ? Array(arguments.dropFirst()) : arguments
let count = words.first.flatMap { Int($0) }
let seed = words.count == 2 ? UInt64(words[1]) : 1
guard (1...2).contains(words.count), let seed, isScan || count != nil, count ?? 0 >= 0 else {
  print("usage: tern-crash KILLS [SEED] | scan KILLS [SEED] | scan 'POINT:COUNT, MISBEHAVIOUR'")
  exit(2)
}
let violations: [String]
let table: String
if isScan {
  let matrix = ScanCampaign.matrix(of: ScanKill.boundaries + ScanKill.laterBoundaries)
  var tally = await (count == nil ? matrix.filtered(by: words[0]) : matrix).run()
  if let count { tally.add(await ScanCampaign.atRandom(count, seed: seed).run()) }
  (violations, table) = (tally.violations, tally.table)
} else {
  var tally = CrashCampaign.at(seed: seed).run()
  tally.add(CrashCampaign.atRandom(count ?? 0, seed: seed).run())
  (violations, table) = (tally.violations, tally.table)
}
for violation in violations { print(violation) }
print(table)
exit(violations.isEmpty ? 0 : 1)
#else
print("build with --traits Server,Rehearsal")
#endif
