// A device of a fleet, started by CrashKit: writes numbered rows, acknowledges each on standard
// output, and syncs meanwhile, until its standard input ends. It may be killed at any moment and
// goes on where its database says that it was.

#if os(Linux) || os(macOS)
import CPowerLossVFS
import CrashKit
import Foundation
@_spi(Rehearsal) import Tern

CrashPoint.armFromEnvironment(own: Library.points)
guard let arguments = DeviceArguments(Array(CommandLine.arguments.dropFirst())) else {
  fatalError("CrashDevice is started by a fleet: see script/crash")
}
// 0 is SQLITE_OK.
precondition(
  !arguments.losesPower || tern_powerloss_vfs_register(true) == 0, "SQLite did not take the VFS")
try await Device(arguments).run()
#endif
