#if os(Linux)
import Foundation

/// A port on 127.0.0.1 whose queue of connections is full, and from which nobody takes one: the system answers
/// no other client.
final class DeafServer: Sendable {
  let url: String
  private let sockets: [Int32]

  init() throws {
    let (listener, port) = try LocalServer.listen(backlog: 0)
    url = "http://127.0.0.1:\(port)/"
    var sockets = [listener]
    // Until one is kept waiting. The others connect at once: this machine asks itself.
    while sockets.count < 20 {
      let socket = Glibc.socket(
        AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      sockets.append(socket)
      guard Self.connect(socket, to: port) else {
        self.sockets = sockets
        return
      }
    }
    for socket in sockets { close(socket) }
    throw POSIXError(.EISCONN)
  }

  deinit {
    for socket in sockets { close(socket) }
  }

  /// - Returns: Whether there is a connection, after half a second at the latest.
  private static func connect(_ socket: Int32, to port: Int) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    _ = withUnsafeMutableBytes(of: &address) { bytes in
      Glibc.connect(
        socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self),
        socklen_t(bytes.count))
    }
    var watched = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
    return poll(&watched, 1, 500) > 0
  }
}
#endif
