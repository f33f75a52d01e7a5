#if os(Linux)
import CNetlink
import Foundation

/// Why rtnetlink said nothing.
struct RouteError: Error {
  let errno: Int32
}

/// A socket to the kernel's tables of links and routes, which needs no privilege.
final class RouteSocket: Sendable {
  let descriptor: Int32
  private static let datagramBytes = 64 << 10

  /// A socket that hears of every change, and never waits.
  static func hearing() throws(RouteError) -> RouteSocket {
    let groups = [RTNLGRP_LINK, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE]
    let mask = groups.reduce(UInt32(0)) { $0 | 1 << (UInt32($1.rawValue) - 1) }
    return try RouteSocket(groups: mask, isBlocking: false)
  }

  private init(groups: UInt32, isBlocking: Bool) throws(RouteError) {
    descriptor = tern_netlink_open(groups, isBlocking ? 1 : 0)
    guard descriptor >= 0 else { throw RouteError(errno: errno) }
  }

  deinit {
    close(descriptor)
  }

  /// The messages of the next datagram.
  ///
  /// - Throws: `EAGAIN` when there is none, `ENOBUFS` when some were lost.
  func receive() throws(RouteError) -> [RouteMessage] {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.datagramBytes, alignment: 16)
    defer { buffer.deallocate() }
    let count = tern_netlink_receive(descriptor, buffer.baseAddress, buffer.count)
    guard count >= 0 else { throw RouteError(errno: errno) }
    return RouteMessage.parse(UnsafeRawBufferPointer(rebasing: buffer[..<min(count, buffer.count)]))
  }

  /// Asks for everything. A change in the middle can make it inconsistent, and is heard of on the
  /// other socket, after which somebody asks again.
  static func table() throws(RouteError) -> RouteTable {
    let socket = try RouteSocket(groups: 0, isBlocking: true)
    return RouteTable(try socket.all(RTM_GETLINK) + socket.all(RTM_GETROUTE))
  }

  private func all(_ type: some BinaryInteger) throws(RouteError) -> [RouteMessage] {
    guard tern_netlink_ask_for_all(descriptor, UInt16(type)) == 0 else {
      throw RouteError(errno: errno)
    }
    var all: [RouteMessage] = []
    while true {
      for message in try receive() {
        switch message {
        case .end: return all
        case .failure(let code): throw RouteError(errno: code)
        default: all.append(message)
        }
      }
    }
  }
}
#endif
