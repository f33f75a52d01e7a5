#if Server
import Foundation
import TernCore
import Testing

@testable import TernServer
@testable import TernServerTesting

/// Every line of the table of operators' routes, asked for with every credential that allows
/// nothing.
@Suite(
  "Admin: INV-08, what no operator asks for is refused and changes nothing", .timeLimit(.minutes(2))
)
struct OperatorDenialTests {
  enum Credential: String, CaseIterable {
    case absent
    case otherScheme = "another scheme"
    case mangled, unknown, expired, removed
    /// A device's token of the space.
    case device
    /// A device's token, whose digest somebody has written into the file.
    case listedDevice = "a device's that is listed"
  }

  private let file: OperatorsFile
  private let clock = HandClock()

  init() throws { file = try OperatorsFile() }

  private func authorization(_ credential: Credential, _ server: LiveServer) throws -> String? {
    switch credential {
    case .absent: return nil
    case .otherScheme: return "Basic" + file.olga.dropFirst("Bearer".count)
    case .mangled: return String(file.olga.dropLast())
    case .unknown: return "Bearer tern_operator_" + String(repeating: "0", count: 64)
    case .expired:
      // To the second, as the file has it.
      let made = try OperatorsFile.make(
        "eve", expires: Date(milliseconds: clock.now / 1_000 * 1_000))
      try file.write(made.line)
      return "Bearer \(made.token)"
    case .removed:
      let made = try OperatorsFile.make("eve")
      try file.write(made.line)
      try file.write()
      return "Bearer \(made.token)"
    case .device: return "Bearer \(server.token)"
    case .listedDevice:
      let digest = TokenDigest(token: server.token).bytes.hexadecimal
      try file.write("eve sha256:\(digest)")
      return "Bearer \(server.token)"
    }
  }

  @Test(arguments: Credential.allCases)
  func `every route`(_ credential: Credential) async throws {
    try await LiveServer.run(clock: clock, isWatched: true, operators: try file.tokens) {
      server async throws in
      let home = try AdminHome(server.service, token: server.token)
      let authorization = try authorization(credential, server)
      let space = try StoreSpace(server.service.store)
      for entry in AdminRoute.table {
        let before = try space.picture()
        let answer = try await server.operate(
          entry.method.rawValue, home.path(entry), token: authorization,
          body: home.body(entry.call))
        #expect(answer.problem == "unauthorized", "\(entry.call) with \(credential.rawValue)")
        #expect(answer.status == 401 && answer.header("WWW-Authenticate") == "Bearer")
        #expect(try space.picture() == before, "\(entry.call) with \(credential.rawValue)")
      }
      // Nobody learns which paths there are.
      let nowhere = try await server.operate("GET", "nowhere", token: authorization)
      #expect(nowhere.problem == "unauthorized")
      #expect(try await server.operate("GET", "spaces", token: file.olga).status == 200)
    }
  }

  @Test func `a device's routes take no operator's token`() async throws {
    try await LiveServer.run(isWatched: true, operators: try file.tokens) { server async throws in
      for entry in SpaceRoute.table {
        let path = entry.path.map { $0 == "*" ? "0" : $0 }
        var request = server.request(
          (["/v1/spaces/home"] + path).joined(separator: "/"), method: entry.method.rawValue,
          token: nil)
        request.setValue(file.olga, forHTTPHeaderField: "Authorization")
        #expect(try await server.send(request).problem == "unauthorized", "\(entry.path)")
      }
      // Nor has the devices' listener the operators' routes.
      var request = server.request("/v1/admin/spaces", token: nil)
      request.setValue(file.olga, forHTTPHeaderField: "Authorization")
      #expect(try await server.send(request).problem == "not-found")
    }
  }

  @Test func `without the file the routes are not there`() async throws {
    try await LiveServer.run(isWatched: true) { server async throws in
      for entry in AdminRoute.table {
        let path = entry.path.map { $0 == "*" ? "0" : $0 }.joined(separator: "/")
        let answer = try await server.operate(entry.method.rawValue, path, token: file.olga)
        #expect(answer.status == 404 && answer.problem == nil)
      }
    }
  }

  private func status(_ server: LiveServer, _ token: String) async throws -> Int {
    try await server.operate("GET", "spaces", token: token).status
  }

  @Test func `the file is read again while the server runs`() async throws {
    try await LiveServer.run(isWatched: true, operators: try file.tokens) { server async throws in
      let made = try OperatorsFile.make("ben")
      let ben = "Bearer \(made.token)"
      #expect(try await status(server, ben) == 401)
      try file.write(made.line)
      #expect(try await status(server, ben) == 200)
      #expect(try await server.operate("PUT", "spaces/new", token: ben).status == 200)
      let record = try server.service.store.auditRecords(after: 0, of: nil, atMost: 9).first
      #expect(record?.entry.actor.text == "operator:ben")
      try file.write(made.line, hasOlga: false)
      #expect(try await status(server, file.olga) == 401)
      #expect(try await status(server, ben) == 200)
      // Nobody knows any more who is an operator.
      let nameless = made.line.replacing("ben", with: "b/n")
      for broken in ["ben", "ben sha256:00", nameless, made.line] {
        try file.write(made.line, broken)
        #expect(try await server.operate("GET", "spaces", token: ben).problem == "unavailable")
      }
      for rights in [0o604, 0o640, 0o660, 0o602] {
        try file.write(made.line, rights: rights)
        #expect(try await server.operate("GET", "spaces", token: ben).problem == "unavailable")
      }
      try FileManager.default.removeItem(atPath: file.path)
      #expect(try await server.operate("GET", "spaces", token: ben).problem == "unavailable")
      // Devices and whoever watches notice nothing.
      #expect(try await server.send(server.request("/v1/spaces/home")).status == 200)
      #expect(try await server.watch("/health").status == 200)
      try file.write(made.line, rights: 0o400)
      #expect(try await status(server, ben) == 200)
    }
  }

  @Test func `two tokens of one operator are good at once, until one's time`() async throws {
    let second = Date(milliseconds: clock.now / 1_000 * 1_000 + 2_000)
    let (old, new) = (
      try OperatorsFile.make("ben", expires: second), try OperatorsFile.make("ben")
    )
    try file.write(old.line, new.line)
    try await LiveServer.run(clock: clock, isWatched: true, operators: try file.tokens) {
      server async throws in
      #expect(try await status(server, "Bearer \(old.token)") == 200)
      clock.now += 2_000
      #expect(try await status(server, "Bearer \(old.token)") == 401)
      #expect(try await status(server, "Bearer \(new.token)") == 200)
    }
  }

  @Test(arguments: [0o644, 0o640, 0o620])
  func `a file that others can open is refused at the start`(_ rights: Int) throws {
    try file.write(rights: rights)
    let error = #expect(throws: OperatorTokensError.self) { _ = try file.tokens }
    #expect(error?.message.contains("chmod 600") == true)
  }

  @Test func `what is no file of tokens is refused at the start, by its line`() throws {
    try file.write("ben sha256:1")
    let error = #expect(throws: OperatorTokensError.self) { _ = try file.tokens }
    #expect(error?.message.contains("line 4") == true)
    for path in ["/", "/nowhere/at/all"] {
      #expect(throws: OperatorTokensError.self) { try OperatorTokens(path: path) }
    }
  }
}
#endif
