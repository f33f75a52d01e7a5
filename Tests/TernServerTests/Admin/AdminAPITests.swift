#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Admin: what operators do over HTTP", .timeLimit(.minutes(2)))
struct AdminAPITests {
  private let file: OperatorsFile

  init() throws { file = try OperatorsFile() }

  private func run(
    _ kind: StoreKind = .memory, limits: ServerLimits = .init(),
    _ body: (LiveServer, AdminHome) async throws -> Void
  ) async throws {
    let opened = try kind.open(hasRules: false)
    try await LiveServer.run(
      limits: limits, clock: opened.clock, store: opened.store, isWatched: true,
      operators: try file.tokens
    ) { server async throws in
      try await body(server, AdminHome(server.service, token: server.token))
    }
    withExtendedLifetime(opened.examination) {}
  }

  private func records(_ server: LiveServer) throws -> [AuditRecord] {
    try server.service.store.auditRecords(after: 0, of: nil, atMost: 1_000)
  }

  @Test(arguments: AdminRoute.table, StoreKind.allCases)
  func `each route does what it says, and leaves a record`(
    _ entry: AdminRoute.Entry, _ kind: StoreKind
  ) async throws {
    let schemas = try AdminSchemas()
    try await run(kind) { server, home in
      try home.prepare(entry.call)
      let (path, body) = (home.path(entry), home.body(entry.call))
      func send() async throws -> Answer {
        try await server.operate(entry.method.rawValue, path, token: file.olga, body: body)
      }
      let answer = try await send()
      #expect(answer.status == 200, "\(answer.json)")
      #expect(answer.header("Cache-Control") == "no-store" && answer.header("X-Request-Id") != nil)
      #expect(try schemas.complaints(of: answer, to: entry.call) == [])
      if let changed = answer.json["changed"] as? Bool { #expect(changed) }
      let records = try records(server)
      #expect(records.map(\.entry.action) == (entry.call.action.map { [$0] } ?? []))
      #expect(records.allSatisfy { $0.entry.actor.text == "operator:olga" })
      // A new token is new each time, and so is the end of what is opened for a day.
      if [.createToken, .rotateToken].contains(entry.call) { return }
      let again = try await send()
      #expect([200, 404].contains(again.status), "\(again.json)")
      #expect(try self.records(server) == records)
    }
  }

  @Test func `what a route changes is changed for devices`() async throws {
    try await run { server, home in
      let path = "spaces/home/suspension"
      #expect(
        try await server.operate("PUT", path, token: file.olga).json["changed"] as? Bool == true)
      #expect(
        try await server.operate("PUT", path, token: file.olga).json["changed"] as? Bool == false)
      var bob = Author(2)
      #expect(try await server.push([bob.write()]).problem == "space-suspended")
      #expect(try await server.operate("DELETE", path, token: file.olga).status == 200)
      #expect(try await server.push([bob.fragment()]).status == 409)
      let made = try await server.operate(
        "POST", "spaces/home/tokens", token: file.olga, body: #"{"label":"tablet"}"#)
      let token = try #require(made.json["token"] as? String)
      #expect(try await server.send(server.request("/v1/spaces/home", token: token)).status == 200)
      let id = try #require((made.json["record"] as? [String: Any])?["id"] as? String)
      let details = try await server.operate("GET", "spaces/home", token: file.olga)
      let text = String(decoding: details.body, as: UTF8.self)
      #expect(text.contains(id) && text.contains("tablet") && !text.contains(token))
      #expect(
        try await server.operate("DELETE", "spaces/home/tokens/\(id)", token: file.olga).status
          == 200)
      #expect(try await server.send(server.request("/v1/spaces/home", token: token)).status == 401)
      #expect(try await server.operate("DELETE", "spaces/home", token: file.olga).status == 200)
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 401)
    }
  }

  @Test func `none but one makes a space that isn't there`() async throws {
    try await run { server, home in
      for entry in AdminRoute.table where entry.path.contains("*") && entry.call != .createSpace {
        let answer = try await server.operate(
          entry.method.rawValue, home.path(entry, space: "none"), token: file.olga,
          body: home.body(entry.call))
        #expect(answer.problem == "not-found", "\(entry.call) \(answer.json)")
      }
      #expect(try server.service.store.spaces() == [.home])
      #expect(try records(server) == [])
    }
  }

  @Test func `a token's id of another space is not found`() async throws {
    try await run { server, home in
      var generator = SeededGenerator(state: 3)
      let other = try server.service.createToken(for: .work, using: &generator)
      let path = "spaces/home/tokens/\(TokenDigest(token: other))"
      #expect(try await server.operate("DELETE", path, token: file.olga).problem == "not-found")
      #expect(
        try await server.operate("POST", path + "/rotation", token: file.olga).problem
          == "not-found")
      #expect(try server.service.store.tokens().count == 2)
    }
  }

  private static let refused: [(method: String, path: String, body: String?, problem: String)] = [
    ("PUT", "spaces/home/quota", #"{"byte":5}"#, "malformed"),
    ("PUT", "spaces/home/quota", #"{"bytes":-1}"#, "malformed"),
    ("PUT", "spaces/home/quota", #"{"bytes":"5"}"#, "malformed"),
    ("PUT", "spaces/home/quota", "[]", "malformed"), ("PUT", "spaces/home/quota", nil, "malformed"),
    ("PUT", "spaces/home/suspension", "{}", "malformed"),
    ("PUT", "spaces/a%20b", nil, "malformed"),
    ("PUT", "spaces/" + String(repeating: "a", count: 65), nil, "too-large"),
    ("PUT", "spaces/home/quota", String(repeating: " ", count: 16_385), "too-large"),
    ("POST", "spaces/home/tokens", #"{"expires":1}"#, "malformed"),
    ("POST", "spaces/home/tokens", #"{"label":""}"#, "malformed"),
    ("POST", "spaces/home/tokens", #"{"member":" "}"#, "malformed"),
    ("PUT", "spaces/home/replicas/1/ban", nil, "malformed"),
    ("PUT", "spaces/home/replicas/\(AdminHome.ada)/admission", "{}", "malformed"),
    ("PUT", "spaces/home/replicas/\(AdminHome.ada)/member", "{}", "malformed"),
    ("DELETE", "spaces/home/replicas/\(Author(9).replica)/ban", nil, "not-found"),
    ("DELETE", "spaces/home/snapshots/none", nil, "snapshot-unknown"),
    ("PUT", "spaces/home/snapshots/none/acceptance", nil, "snapshot-unknown"),
    ("DELETE", "spaces/home/tokens/0123456789abcdef", nil, "not-found"),
    ("GET", "audit?after=x", nil, "malformed"), ("GET", "audit?space=a%20b", nil, "malformed"),
    ("GET", "", nil, "not-found"), ("GET", "spaces/", nil, "malformed"),
    ("GET", "rooms", nil, "not-found"), ("GET", "spaces/home/x", nil, "not-found"),
    ("POST", "spaces/home", nil, "method-not-allowed"), ("PUT", "audit", nil, "method-not-allowed"),
  ]

  @Test func `what can't be is refused by a problem document, and changes nothing`() async throws {
    let schemas = try AdminSchemas()
    try await run { server, home in
      for (method, path, body, problem) in Self.refused {
        let answer = try await server.operate(method, path, token: file.olga, body: body)
        #expect(answer.problem == problem, "\(method) \(path) \(answer.json)")
        let known = try? AdminRoute(
          method: .init(method)!, path: "/v1/admin/" + path.prefix { $0 != "?" })
        if let known {
          #expect(try schemas.problems(of: known.call)[answer.status]?.contains(problem) == true)
        }
      }
      let other = try await server.operate("POST", "spaces/home", token: file.olga)
      #expect(other.header("Allow") == "DELETE, GET, PUT")
      let text = try await server.operate(
        "PUT", "spaces/home/quota", token: file.olga, body: "{}", type: "text/plain")
      #expect(text.problem == "unsupported-media-type")
      #expect(try server.service.store.spaces() == [.home] && records(server) == [])
    }
  }

  @Test func `a space that moved is another store's`() async throws {
    let opened = try StoreKind.sqlite.open(hasRules: false)
    let store = try #require(opened.store as? SQLiteSpaceStore)
    try await LiveServer.run(
      clock: opened.clock, store: store, isWatched: true, operators: try file.tokens
    ) { server async throws in
      let home = try AdminHome(server.service, token: server.token)
      try store.place(
        SpaceStanding(epoch: store.epoch, phase: .moved, peer: store.epoch), of: .home)
      let list = try await server.operate("GET", "spaces", token: file.olga)
      #expect(String(decoding: list.body, as: UTF8.self).contains(#""phase":"moved""#))
      let path = home.path(AdminRoute.table.first { $0.call == .suspendSpace }!)
      #expect(try await server.operate("PUT", path, token: file.olga).problem == "space-moved")
      #expect(try await server.operate("GET", "spaces/home", token: file.olga).status == 200)
    }
    withExtendedLifetime(opened.examination) {}
  }

  @Test func `lists come in pages`() async throws {
    try await run { server, home in
      for number in 0..<150 {
        _ = try server.service.createSpace(SpaceName("s\(number)"))
      }
      var (names, after, pages) = ([String](), "", 0)
      while true {
        let page = try await server.operate("GET", "spaces?after=\(after)", token: file.olga)
        names +=
          (page.json["spaces"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
        after = names.last ?? ""
        pages += 1
        guard page.json["more"] as? Bool == true else { break }
      }
      let all = try server.service.store.spaces().map(\.text)
      #expect(pages == 2 && names == all)
      for number in 1...250 {
        let entry = AuditEntry(
          actor: AuditActor(stored: "operator:olga"), action: .setQuota,
          space: number % 50 == 0 ? .work : .home, time: server.service.clock.now)
        try server.service.store.update(.home) { try $0.audit.add(entry, keeping: 1_000) }
      }
      for (query, numbers, hasMore) in [
        ("", Array(1...200), true), ("after=200", Array(201...250), false),
        ("after=100&space=work", [150, 200, 250], false),
      ] {
        let page = try await server.operate("GET", "audit?\(query)", token: file.olga).json
        let records = page["records"] as? [[String: Any]] ?? []
        #expect(records.compactMap { $0["number"] as? Int } == numbers)
        #expect(page["more"] as? Bool == hasMore)
      }
    }
  }
}
#endif
