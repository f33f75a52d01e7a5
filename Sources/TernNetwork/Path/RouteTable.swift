#if os(Linux)
import CNetlink

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

  /// Packets to most of the world go over a mobile network: of the default routes of a family the
  /// one with the lowest metric counts, and all ways where there is no default route.
  ///
  /// It is as much as the kernel says of money. That a cable or Wi-Fi is metered, such as a phone's
  /// hotspot, is known to programs above it alone.
  let isExpensive: Bool

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
    let mobile = Set(links.values.filter { Self.mobileKinds.contains($0.kind) }.map(\.index))
    isExpensive = Self.decisive(ways).map { $0.allSatisfy { mobile.contains($0.link) } } ?? false
  }

  /// `wwan` is the kernel's own framework for modems, `rmnet` Qualcomm's.
  private static let mobileKinds: Set = ["wwan", "rmnet"]

  /// The ways that most packets take, `nil` where there are none.
  private static func decisive(_ ways: Set<Way>) -> [Way]? {
    let defaults = ways.filter {
      $0.prefixLength == 0 && $0.table == UInt32(RT_TABLE_MAIN.rawValue)
    }
    let preferred = Dictionary(grouping: defaults, by: \.family).values.compactMap { family in
      family.min { $0.priority < $1.priority }
    }
    if !preferred.isEmpty { return preferred }
    return ways.isEmpty ? nil : Array(ways)
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
