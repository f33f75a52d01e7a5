#if Server
import Foundation
import HTTPTypes
import TernCore
import Testing

@testable import TernServer
@testable import TernServerTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Every line of the table of routes, asked for with every kind of credential that allows nothing.
@Suite("HTTP: INV-08, what nobody allows is refused and changes nothing", .timeLimit(.minutes(2)))
struct DeniedRequestTests {
  enum Credential: String, CaseIterable {
    case absent
    case otherScheme = "another scheme"
    case mangled, unknown, foreign, expired, revoked
    /// Of a session that may read alone.
    case reader
    /// Of a space that is read-only.
    case suspended
  }

  /// Something that would be taken, if it were allowed.
  private struct Home {
    let operation: SyncOperation
    let offer: [UInt8]
    let report: [UInt8]
    let upload: String
    let snapshot: String
    let part: [UInt8]

    init(_ service: SpaceService) throws {
      var (ada, bob) = (Author(1), Author(2))
      _ = try service.push(ada.write(count: 2), to: .home)
      snapshot = try service.upload(SnapshotOffer(at: service.end(), of: [ada]))
      _ = try service.push([bob.write()], to: .home)
      let end = try service.end()
      let next = SnapshotOffer("next", at: end, of: [ada, bob])
      upload = try service.beginSnapshot(next, in: .home).id
      part = try next.partsWithoutRows()[0]
      operation = ada.write()
      offer = Array(
        #"{"key":"n","parts":1,"cursor":"\#(end.rawValue)","base":false,"heads":{}}"#.utf8)
      report = Array(
        """
        {"replica":"\(ada.replica)","cursor":"\(end.rawValue)","operations":"1","repaired":true,"tables":{}}
        """.utf8)
    }

    func path(_ entry: SpaceRoute.Entry, _ route: SpaceRoute) -> String {
      let id = route.writes ? upload : snapshot
      var values = [id, "0"]
      let parts = entry.path.map { $0 == "*" ? values.removeFirst() : $0 }
      return (["/v1/spaces/home"] + parts).joined(separator: "/")
    }

    /// A `switch`, so that a new route needs a body here.
    func body(_ route: SpaceRoute) -> (type: String?, bytes: [UInt8]?) {
      switch route {
      case .greet, .pull, .events, .snapshotPart: (nil, nil)
      case .push: (batchType, OperationBatch([operation]).encoded())
      case .reportState: ("application/json", report)
      case .beginSnapshot: ("application/json", offer)
      case .completeSnapshot: (nil, [])
      case .putSnapshotPart: (partType, part)
      }
    }
  }

  @Test(arguments: Credential.allCases)
  func `every route`(_ credential: Credential) async throws {
    let (clock, sessions) = (HandClock(), Sessions())
    await sessions.signIn(
      .init(
        id: UUID(), account: "guest", space: .home, isGuest: true,
        expires: Date(milliseconds: clock.now + 1_000_000)), secret: "guest")
    try await LiveServer.run(clock: clock) { service in
      credential == .reader ? sessions as any Authorizer : TokenAuthorizer(service: service)
    } _: { server async throws in
      let home = try Home(server.service)
      let authorization = try authorization(credential, server, clock)
      if credential == .suspended { try server.service.asOperator.suspend(.home) }
      let space = try StoreSpace(server.service.store)
      for entry in SpaceRoute.table {
        let route = try #require(entry.route(["snapshots", "x", "parts", "0"]))
        let before = try space.picture()
        let (type, body) = home.body(route)
        var request = server.request(
          home.path(entry, route), method: entry.method.rawValue, token: nil, type: type, body: body
        )
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        let expected = refusal(credential, route)
        if expected == nil, route == .events {
          var events = EventReader(request)
          #expect(try await events.next()?.contains("id: 3") == true)
          events.cancel()
          continue
        }
        let answer = try await server.send(request)
        #expect(answer.problem == expected, "\(route) with \(credential.rawValue)")
        if expected == nil { #expect(answer.status == 200, "\(route) with \(credential.rawValue)") }
        let after = try space.picture()
        #expect(after == before, "\(route) with \(credential.rawValue) changed something")
      }
    }
  }

  /// With what is allowed, the same requests are taken: what is refused is refused for the
  /// credential alone.
  @Test func `each request is one that a token is allowed`() async throws {
    try await LiveServer.run { server async throws in
      let home = try Home(server.service)
      for entry in SpaceRoute.table {
        let route = try #require(entry.route(["snapshots", "x", "parts", "0"]))
        let (type, body) = home.body(route)
        let request = server.request(
          home.path(entry, route), method: entry.method.rawValue, type: type, body: body)
        if route == .events { continue }
        let problem = try await server.send(request).problem
        #expect(
          ![401, 403].contains(try await server.send(request).status), "\(route): \(problem ?? "")")
      }
    }
  }

  private func authorization(
    _ credential: Credential, _ server: LiveServer, _ clock: HandClock
  ) throws -> String? {
    var generator = SystemRandomNumberGenerator()
    func token(_ space: SpaceName = .home, expires: Date? = nil) throws -> String {
      "Bearer "
        + (try server.service.createToken(for: space, expires: expires, using: &generator))
    }
    switch credential {
    case .absent: return nil
    case .otherScheme: return "Basic \(server.token)"
    case .mangled: return "Bearer \(server.token.dropLast())"
    case .unknown: return "Bearer tern_" + String(repeating: "0", count: 64)
    case .foreign: return try token(.work)
    case .expired: return try token(expires: Date(milliseconds: clock.now))
    case .revoked:
      let revoked = try server.service.createToken(for: .home, using: &generator)
      try server.service.revoke(revoked)
      return "Bearer \(revoked)"
    case .reader: return "Bearer guest"
    case .suspended: return "Bearer \(server.token)"
    }
  }

  /// The code of the refusal; `nil` for what is allowed.
  private func refusal(_ credential: Credential, _ route: SpaceRoute) -> String? {
    switch credential {
    case .absent, .otherScheme, .mangled, .unknown, .expired, .revoked: "unauthorized"
    case .foreign: "forbidden"
    case .reader: route.writes ? "read-only" : nil
    case .suspended: route.writes ? "space-suspended" : nil
    }
  }
}
#endif
