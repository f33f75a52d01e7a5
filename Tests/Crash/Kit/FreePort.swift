#if os(Linux) || os(macOS)
import Foundation

/// A port that a server can be killed on and have again: below those that the system gives to
/// clients, where a client that calls an absent server could meet itself.
///
/// For as long as this lives no other process takes the same one in this way: the UDP port of the same number is
/// held, which no server wants.
final class FreePort {
  let number: Int
  private let reservation: CInt

  init() throws {
    for _ in 0..<1000 {
      let port = Int.random(in: 20_000...31_000)
      guard let reservation = Self.bound(port, .datagrams) else { continue }
      if let free = Self.bound(port, .stream) {
        close(free)
        (number, self.reservation) = (port, reservation)
        return
      }
      close(reservation)
    }
    throw POSIXError(.EADDRINUSE)
  }

  deinit { close(reservation) }

  private enum Kind { case stream, datagrams }

  /// A socket that is bound to the port on loopback, unless somebody has it.
  private static func bound(_ port: Int, _ kind: Kind) -> CInt? {
    // A process that another thread starts right now would hold it too, and no server could listen there.
    #if os(Linux)
    let type = Int32(
      ((kind == .stream ? SOCK_STREAM : SOCK_DGRAM).rawValue) | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    #else
    let descriptor = socket(AF_INET, kind == .stream ? SOCK_STREAM : SOCK_DGRAM, 0)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    #endif
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
    if !isBound { close(descriptor) }
    return isBound ? descriptor : nil
  }
}
#endif
