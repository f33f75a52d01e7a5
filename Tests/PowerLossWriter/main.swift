// Commits to a database whose un-synced writes are lost when this process is killed, and says on
// standard output what it has committed. Usage: PowerLossWriter <database> <durability> <seed>

import CPowerLossVFS
import Foundation
import GRDB
import TernDatabase

let arguments = CommandLine.arguments
guard arguments.count == 4, let durability = Durability(rawValue: arguments[2]),
  let seed = UInt64(arguments[3])
else {
  FileHandle.standardError.write(
    Data("usage: PowerLossWriter <database> powerLoss|processCrash <seed>\n".utf8))
  exit(2)
}
// SQLITE_OK
precondition(tern_powerloss_vfs_register(true) == 0, "SQLite did not take the VFS")

let pool = try DatabasePool(path: arguments[1])
try durability.apply(to: pool)
try Workload(seed: seed).run(on: pool) { number in
  // One write(2), so that an acknowledgement is in the pipe whole or not at all.
  let line = Array("\(number)\n".utf8)
  guard write(STDOUT_FILENO, line, line.count) == line.count else { exit(1) }
}
