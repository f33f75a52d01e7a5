#if os(Linux)
import CNetlink

/// What the kernel says about links and routes, as far as it matters here.
///
/// - Source: `rtnetlink(7)`, `linux/rtnetlink.h`, `linux/if_link.h`.
enum RouteMessage: Hashable, Sendable {
  case link(Link)
  case linkRemoved(index: Int32)
  case route(Route)
  case routeRemoved(Route)
  /// The last of what was asked for.
  case end
  case failure(errno: Int32)

  struct Link: Hashable, Sendable {
    var index: Int32
    /// Up, and with a carrier where it can have one.
    var isRunning: Bool
    var isLoopback: Bool
    /// What made it, e.g. `bridge`; empty for hardware.
    var kind: String
  }

  struct Route: Hashable, Sendable {
    /// Packets go on, in contrast to routes that drop them or end at this machine.
    var isUnicast: Bool
    var family: UInt8
    var destination: [UInt8]
    var prefixLength: UInt8
    var table: UInt32
    var priority: UInt32
    var hops: [Hop]
  }

  struct Hop: Hashable, Sendable {
    var link: Int32
    /// Empty where the destination is on the link itself.
    var gateway: [UInt8]
    /// The kernel knows that nothing gets through.
    var isDead: Bool
  }
}

extension RouteMessage {
  /// The messages of one datagram. What is cut off or of another kind is passed over.
  static func parse(_ datagram: UnsafeRawBufferPointer) -> [RouteMessage] {
    var messages: [RouteMessage] = []
    var rest = datagram[...]
    while let length = rest.number(UInt32.self, at: 0).map({ Int($0) }), length >= headerBytes,
      length <= rest.count, let type = rest.number(UInt16.self, at: 4)
    {
      let body = rest.dropFirst(headerBytes).prefix(length - headerBytes)
      if let message = message(type: type, body) { messages.append(message) }
      rest = rest.dropFirst(aligned(length))
    }
    return messages
  }

  private static let headerBytes = 16

  private static func message(type: UInt16, _ body: Bytes) -> RouteMessage? {
    switch Int(type) {
    case Int(NLMSG_DONE): .end
    // A failure of 0 only acknowledges. Numbers are negative on the way.
    case Int(NLMSG_ERROR):
      body.number(Int32.self, at: 0).flatMap { $0 == 0 ? nil : .failure(errno: 0 &- $0) }
    case Int(RTM_NEWLINK): link(body).map(RouteMessage.link)
    case Int(RTM_DELLINK): link(body).map { .linkRemoved(index: $0.index) }
    case Int(RTM_NEWROUTE): route(body).map(RouteMessage.route)
    case Int(RTM_DELROUTE): route(body).map(RouteMessage.routeRemoved)
    default: nil
    }
  }

  private static func link(_ body: Bytes) -> Link? {
    guard let index = body.number(Int32.self, at: 4), let flags = body.number(UInt32.self, at: 8)
    else { return nil }
    let information = body.attributes(after: 16)[UInt32(IFLA_LINKINFO)]
    let kind = information?.attributes(after: 0)[UInt32(IFLA_INFO_KIND)]
    let needed = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
    return Link(
      index: index, isRunning: flags & needed == needed,
      isLoopback: flags & UInt32(IFF_LOOPBACK) != 0,
      kind: kind.map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } ?? "")
  }

  private static func route(_ body: Bytes) -> Route? {
    guard let flags = body.number(UInt32.self, at: 8) else { return nil }
    let head = Array(body.prefix(8))
    let attributes = body.attributes(after: 12)
    let single = attributes[RTA_OIF.rawValue]?.number(Int32.self, at: 0).map { link in
      Hop(link: link, gateway: gateway(attributes), isDead: isDead(flags))
    }
    return Route(
      isUnicast: head[7] == UInt8(RTN_UNICAST), family: head[0],
      destination: attributes[RTA_DST.rawValue].map(Array.init) ?? [], prefixLength: head[1],
      table: attributes[RTA_TABLE.rawValue]?.number(UInt32.self, at: 0) ?? UInt32(head[4]),
      priority: attributes[RTA_PRIORITY.rawValue]?.number(UInt32.self, at: 0) ?? 0,
      hops: (single.map { [$0] } ?? []) + (attributes[RTA_MULTIPATH.rawValue].map(hops) ?? []))
  }

  private static func hops(_ list: Bytes) -> [Hop] {
    var hops: [Hop] = []
    var rest = list
    while let length = rest.number(UInt16.self, at: 0).map({ Int($0) }), length >= 8,
      length <= rest.count, let link = rest.number(Int32.self, at: 4)
    {
      let hop = rest.prefix(length)
      let flags = UInt32(hop[hop.startIndex + 2])
      hops.append(
        Hop(link: link, gateway: gateway(hop.attributes(after: 8)), isDead: isDead(flags)))
      rest = rest.dropFirst(aligned(length))
    }
    return hops
  }

  private static func gateway(_ attributes: [UInt32: Bytes]) -> [UInt8] {
    (attributes[RTA_GATEWAY.rawValue] ?? attributes[RTA_VIA.rawValue]).map(Array.init) ?? []
  }

  private static func isDead(_ flags: UInt32) -> Bool {
    flags & UInt32(RTNH_F_DEAD | RTNH_F_LINKDOWN) != 0
  }
}

private typealias Bytes = Slice<UnsafeRawBufferPointer>

private func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

extension Slice<UnsafeRawBufferPointer> {
  /// In this machine's byte order; `nil` past the end.
  fileprivate func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number?
  {
    guard offset + MemoryLayout<Number>.size <= count else { return nil }
    return base.loadUnaligned(fromByteOffset: startIndex + offset, as: type)
  }

  fileprivate func attributes(after offset: Int) -> [UInt32: Self] {
    var attributes: [UInt32: Self] = [:]
    var rest = dropFirst(offset)
    while let length = rest.number(UInt16.self, at: 0).map({ Int($0) }), length >= 4,
      length <= rest.count, let type = rest.number(UInt16.self, at: 2)
    {
      // The highest two bits say how the content is built.
      attributes[UInt32(type & 0x3FFF)] = rest.dropFirst(4).prefix(length - 4)
      rest = rest.dropFirst(aligned(length))
    }
    return attributes
  }
}
#endif
