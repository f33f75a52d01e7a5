#if os(Linux)
/// The ways to beyond this machine.
///
/// A route is one when it is for packets that go on, over a link that is up, has a carrier and is
/// not the loopback, and
///
/// - it is a default route, or has a gateway; or
/// - its destination is on the link itself and the link is neither a bridge nor a dummy: those that
///   container and machine managers make lead to what runs on this very machine. A LAN that is
///   reached through a bridge and has no gateway is not seen, therefore.
///
/// Link-local destinations do not count: every link has one as soon as it is up.
struct RouteTable: Hashable, Sendable {
  private struct Way: Hashable {
    var family: UInt8
    var destination: [UInt8]
    var prefixLength: UInt8
    var table: UInt32
    var priority: UInt32
    var gateway: [UInt8]
    var link: Int32
  }

  private let ways: Set<Way>

  var hasRoute: Bool { !ways.isEmpty }

  /// - Parameter messages: all links and all routes, in any order.
  init(_ messages: [RouteMessage]) {
    var links: [Int32: RouteMessage.Link] = [:]
    for case .link(let link) in messages where link.isRunning && !link.isLoopback {
      links[link.index] = link
    }
    var ways: Set<Way> = []
    for case .route(let route) in messages where route.isUnicast && !Self.isLocal(route) {
      for hop in route.hops where !hop.isDead {
        guard let link = links[hop.link] else { continue }
        let isInside = ["bridge", "dummy"].contains(link.kind)
        let leadsOn = !hop.gateway.isEmpty || route.prefixLength == 0
        if leadsOn || !isInside { ways.insert(Self.way(route, hop)) }
      }
    }
    self.ways = ways
  }

  /// Whether the message takes away something that is in use. It may be back before the next look
  /// at everything, and what went over it is lost all the same.
  func loses(_ message: RouteMessage) -> Bool {
    switch message {
    case .routeRemoved(let route): route.hops.contains { ways.contains(Self.way(route, $0)) }
    case .linkRemoved(let index): ways.contains { $0.link == index }
    case .link(let link): !link.isRunning && ways.contains { $0.link == link.index }
    case .route, .end, .failure: false
    }
  }

  private static func way(_ route: RouteMessage.Route, _ hop: RouteMessage.Hop) -> Way {
    Way(
      family: route.family, destination: route.destination, prefixLength: route.prefixLength,
      table: route.table, priority: route.priority, gateway: hop.gateway, link: hop.link)
  }

  /// fe80::/10 and 169.254.0.0/16.
  private static func isLocal(_ route: RouteMessage.Route) -> Bool {
    let bytes = route.destination
    guard bytes.count >= 2 else { return false }
    return bytes.count == 4
      ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
  }
}
#endif
