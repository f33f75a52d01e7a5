#if os(Linux)
import Foundation
import Testing

@testable import TernNetwork

/// What a kernel said (6.x, x86-64): recorded in a network with a bridge as Docker makes it, a pair
/// of links as a LAN, and later default routes, routes with two gateways and unreachable ones.
private enum Recorded: String {
  case links
  case routesBridge = "routes-bridge"
  case routesLAN = "routes-lan"
  case routesFull = "routes-full"
  case eventsRemoved = "events-removed"
  case eventsDown = "events-down"

  /// A datagram a line.
  var datagrams: [[UInt8]] {
    get throws {
      let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
      let url = folder.appending(path: "Fixtures/v1/\(rawValue).hex")
      return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { line in
        let digits = Array(line.utf8)
        return stride(from: 0, to: digits.count, by: 2).compactMap { index in
          UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
        }
      }
    }
  }

  var messages: [RouteMessage] {
    get throws {
      try datagrams.flatMap { $0.withUnsafeBytes(RouteMessage.parse) }
    }
  }
}

@Suite("Path: what the kernel's messages say of the way to other machines")
struct RouteTableTests {
  private func links(_ change: (inout RouteMessage.Link) -> Void = { _ in }) throws
    -> [RouteMessage]
  {
    try Recorded.links.messages.map { message in
      guard case .link(var link) = message else { return message }
      change(&link)
      return .link(link)
    }
  }

  @Test("links are read with their kind")
  func readLinks() throws {
    let links = try Recorded.links.messages
    #expect(links.last == .end)
    #expect(
      links.dropLast() == [
        .link(.init(index: 1, isRunning: true, isLoopback: true, kind: "")),
        .link(.init(index: 2, isRunning: true, isLoopback: false, kind: "bridge")),
        .link(.init(index: 3, isRunning: true, isLoopback: false, kind: "veth")),
        .link(.init(index: 4, isRunning: true, isLoopback: false, kind: "veth")),
        .link(.init(index: 5, isRunning: true, isLoopback: false, kind: "veth")),
        .link(.init(index: 6, isRunning: true, isLoopback: false, kind: "veth")),
      ])
  }

  @Test("routes are read, those with several gateways too")
  func readRoutes() throws {
    let routes = try Recorded.routesFull.messages.compactMap { message in
      if case .route(let route) = message, route.isUnicast { route } else { nil }
    }
    let shared = try #require(routes.first { $0.hops.count == 2 })
    #expect(shared.destination == [10, 50, 0, 0])
    #expect(shared.prefixLength == 16)
    #expect(shared.hops.map(\.gateway) == [[10, 9, 0, 3], [10, 9, 0, 4]])
    #expect(Set(shared.hops.map(\.link)) == [6])
    let standard = routes.filter { $0.prefixLength == 0 }
    #expect(standard.map(\.family) == [UInt8(AF_INET), UInt8(AF_INET6)])
    #expect(standard.map { $0.hops.map(\.gateway.count) } == [[4], [16]])
    #expect(!routes.contains { $0.destination == [10, 60, 0, 0] })
  }

  @Test("a bridge of containers, the loopback and link-local addresses lead nowhere beyond")
  func bridge() throws {
    #expect(try !RouteTable(Recorded.links.messages + Recorded.routesBridge.messages).hasRoute)
    #expect(try !RouteTable(Recorded.links.messages).hasRoute)
    #expect(try !RouteTable(Recorded.routesFull.messages).hasRoute)
    #expect(!RouteTable([]).hasRoute)
  }

  @Test("a network on a link leads beyond, as long as the link is up and no bridge or dummy")
  func lan() throws {
    let routes = try Recorded.routesLAN.messages
    #expect(try RouteTable(links() + routes).hasRoute)
    #expect(try !RouteTable(links { $0.isRunning = $0.index != 6 } + routes).hasRoute)
    #expect(
      try !RouteTable(links { $0.kind = $0.index == 6 ? "dummy" : $0.kind } + routes).hasRoute)
  }

  @Test("a gateway leads beyond over a bridge too, for one of a virtual machine's host is one")
  func gateway() throws {
    let routes = try Recorded.routesFull.messages
    #expect(try RouteTable(links { $0.kind = "bridge" } + routes).hasRoute)
    let dead = routes.map { message -> RouteMessage in
      guard case .route(var route) = message else { return message }
      for index in route.hops.indices { route.hops[index].isDead = true }
      return .route(route)
    }
    #expect(try !RouteTable(links() + dead).hasRoute)
  }

  @Test("a mobile network costs money, unless another default route is preferred to it")
  func expensive() throws {
    let routes = try Recorded.routesFull.messages
    let mobile = try RouteTable(links { $0.kind = $0.index == 6 ? "wwan" : $0.kind } + routes)
    #expect(mobile.isExpensive)
    #expect(try !RouteTable(links() + routes).isExpensive)
    let lan = try RouteTable(
      links { $0.kind = $0.index == 6 ? "wwan" : $0.kind } + Recorded.routesLAN.messages)
    #expect(lan.isExpensive)
    #expect(!RouteTable([]).isExpensive)
    let cable = routes.compactMap { message -> RouteMessage? in
      guard case .route(var route) = message, route.prefixLength == 0, !route.hops.isEmpty else {
        return nil
      }
      (route.hops[0].link, route.priority) = (5, 0)
      return .route(route)
    }
    let metered = routes.map { message -> RouteMessage in
      guard case .route(var route) = message, route.prefixLength == 0 else { return message }
      route.priority = 2000
      return .route(route)
    }
    let both = try links { $0.kind = $0.index == 6 ? "wwan" : $0.kind } + metered + cable
    #expect(RouteTable(both).hasRoute)
    #expect(!RouteTable(both).isExpensive)
  }

  @Test("tables are equal when the ways are, whatever else there is")
  func equality() throws {
    let (links, full) = try (links(), Recorded.routesFull.messages)
    #expect(RouteTable(links + full) == RouteTable(full.reversed() + links))
    #expect(try RouteTable(links + full) != RouteTable(links + Recorded.routesLAN.messages))
    let bridgeDown = try self.links { $0.isRunning = $0.index != 2 }
    #expect(RouteTable(bridgeDown + full) == RouteTable(links + full))
  }

  @Test("what takes away something in use is a loss, everything else is none")
  func losses() throws {
    let links = try links()
    let (full, lan) = try (
      RouteTable(links + Recorded.routesFull.messages),
      RouteTable(links + Recorded.routesLAN.messages)
    )
    let removed = try Recorded.eventsRemoved.messages
    #expect(removed.count == 1)
    #expect(removed.contains { full.loses($0) })
    #expect(!removed.contains { lan.loses($0) })
    #expect(try Recorded.eventsDown.messages.contains { lan.loses($0) })
    #expect(full.loses(.linkRemoved(index: 6)))
    #expect(!full.loses(.linkRemoved(index: 2)))
    #expect(!links.contains { full.loses($0) })
  }

  @Test("a datagram that is cut off, or damaged anywhere, is read as far as it goes")
  func damage() throws {
    for recorded in [Recorded.routesFull, .eventsDown] {
      var messages = 0
      for datagram in try recorded.datagrams {
        let whole = datagram.withUnsafeBytes(RouteMessage.parse)
        messages += whole.count
        for count in stride(from: 0, to: datagram.count, by: 3) {
          let cut = datagram.withUnsafeBytes { bytes in
            RouteMessage.parse(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
          }
          #expect(cut == Array(whole.prefix(cut.count)))
        }
        for index in stride(from: 0, to: datagram.count, by: 7) {
          var damaged = datagram
          damaged[index] ^= 0xFF
          #expect(damaged.withUnsafeBytes(RouteMessage.parse).count <= whole.count + 1)
        }
      }
      #expect(messages > 0)
    }
  }

  @Test("a refusal carries its number, an acknowledgement nothing")
  func refusal() {
    let refusal: [UInt8] =
      [20, 0, 0, 0, 2, 0] + [UInt8](repeating: 0, count: 10) + [255, 255, 255, 255]
    #expect(refusal.withUnsafeBytes(RouteMessage.parse) == [.failure(errno: 1)])
    let fine = refusal.prefix(16) + [0, 0, 0, 0]
    #expect(Array(fine).withUnsafeBytes(RouteMessage.parse).isEmpty)
  }

  @Test("a burst ends when it is quiet, or after a second")
  func burst() {
    var burst = RouteBurst()
    let ends = [1_000_000_000, 1_100_000_000, 1_900_000_000].map { burst.note(at: $0) }
    #expect(ends == [1_150_000_000, 1_250_000_000, 2_000_000_000])
    burst.isLoss = true
    let (first, next) = (burst.end(), burst.note(at: 5_000_000_000))
    #expect(first)
    #expect(next == 5_150_000_000)
    let second = burst.end()
    #expect(!second)
  }

  @Test("tables that can't be read are no other network, and are read again")
  func failingLook() throws {
    let full = try RouteTable(links() + Recorded.routesFull.messages)
    let lan = try RouteTable(links() + Recorded.routesLAN.messages)
    var knowledge = RouteKnowledge(full)
    #expect(knowledge.noteFailure(isLoss: false) == nil)
    #expect(knowledge.note(full, isLoss: false) == nil)
    let pauses = (0..<8).map { _ in
      #expect(knowledge.noteFailure(isLoss: false) == nil)
      return knowledge.pauseSeconds
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60])
    let local = RouteKnowledge.Path(hasRoute: true, isExpensive: false)
    #expect(knowledge.note(lan, isLoss: false) == local)
    // Something is gone, and whatever is left is another way.
    #expect(knowledge.noteFailure(isLoss: true) == local)
    #expect(knowledge.noteFailure(isLoss: false) == nil)
    #expect(knowledge.note(lan, isLoss: false) == local)
    #expect(knowledge.note(lan, isLoss: false) == nil)
    #expect(knowledge.pauseSeconds == 1)
  }

  @Test("where there was no route, tables that can't be read may have one")
  func failingLookWithoutRoute() {
    let none = RouteTable([])
    var knowledge = RouteKnowledge(none)
    #expect(knowledge.noteFailure(isLoss: false) == .init(hasRoute: true, isExpensive: false))
    #expect(knowledge.noteFailure(isLoss: false) == nil)
    #expect(knowledge.note(none, isLoss: false) == .init(hasRoute: false, isExpensive: false))
  }
}
#endif
