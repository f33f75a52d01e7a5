#if os(Linux) || os(macOS)
import Foundation
import Synchronization

/// Ports that a server can be killed on and have again: below those that the system gives to
/// clients, where a client that calls an absent server could meet itself.
enum FreePort {
  private static let last = Mutex(20_000 + Int(getpid()) % 5_000)

  static func next() throws -> Int {
    for _ in 0..<1000 {
      let port = last.withLock { last in
        last = last < 31_000 ? last + 1 : 20_000
        return last
      }
      if isFree(port) { return port }
    }
    throw POSIXError(.EADDRINUSE)
  }

  private static func isFree(_ port: Int) -> Bool {
    #if os(Linux)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
    let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
    }
  }
}
#endif
