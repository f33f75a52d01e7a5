#if Server && Rehearsal && (os(Linux) || os(macOS))
import CrashKit
import Foundation

// Kills real processes at every named point, at as many random moments as it is told, and at as
// many while devices open their files.
let words = Array(CommandLine.arguments.dropFirst())
let seed = words.count == 2 ? UInt64(words[1]) : 1
guard (1...2).contains(words.count), let count = Int(words[0]), count >= 0, let seed else {
  print("usage: tern-crash KILLS [SEED]")
  exit(2)
}
var tally = CrashCampaign.at(seed: seed).run()
tally.add(CrashCampaign.atRandom(count, seed: seed).run())
tally.add(CrashCampaign.atRandom(count, opening: true, seed: seed).run())
for violation in tally.violations { print(violation) }
print(tally.table)
exit(tally.violations.isEmpty ? 0 : 1)
#else
print("build with --traits Server,Rehearsal")
#endif
