#if Server
import Foundation
import TernServer

extension AuditActor {
  /// The user who runs this process; of `sudo` also who ran that. Whoever can write the data could
  /// write another name, so this is what an honest operator is called.
  static var ofThisCommand: AuditActor {
    let id = geteuid()
    let user = getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "uid \(id)"
    guard id == 0, let other = ProcessInfo.processInfo.environment["SUDO_USER"], other != user,
      !other.isEmpty
    else { return .command(of: user) }
    return .command(of: "\(user), sudo by \(other)")
  }
}
#endif
