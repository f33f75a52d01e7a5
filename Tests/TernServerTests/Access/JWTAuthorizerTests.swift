#if JWTs
import Crypto
import Foundation
import TernCore
import Testing

@testable import TernServer

@Suite("Access: JSON Web Tokens", .timeLimit(.minutes(1)))
struct JWTAuthorizerTests {
  private let clock = HandClock()
  private let issuer: TestIssuer

  init() async throws { issuer = try await TestIssuer() }

  private var rules: JWTRules {
    JWTRules(audience: "tern", issuer: "https://id.example.org")
  }

  private func source(_ bytes: [UInt8]) -> JWTKeySource {
    JWTKeySource(refresh: .seconds(300), pause: .seconds(30)) { bytes }
  }

  private func authorizer(
    _ service: SpaceService, denied: String? = nil, _ more: [TestIssuer] = []
  ) async throws -> JWTAuthorizer {
    try await JWTAuthorizer(
      keys: source(TestIssuer.set([issuer] + more)), rules: rules, denied: denied, service: service)
  }

  private func service() throws -> SpaceService {
    var generator = SeededGenerator(state: 1)
    let service = SpaceService(
      store: MemorySpaceStore(using: &generator), clock: clock.clock)
    try service.createSpace(.home)
    return service
  }

  private func claims(_ changes: [String: Any?] = [:]) -> [String: Any] {
    var claims = TestIssuer.claims(at: clock.now)
    for (name, value) in changes { claims[name] = value }
    return claims
  }

  @Test("a token is who its sub is, in its spaces, until it expires")
  func taken() async throws {
    let authorizer = try await authorizer(service())
    let grant = try await authorizer.authorize(issuer.token(claims()), for: .home)
    #expect((grant.id, grant.credential, grant.mayWrite) == ("anna", "1", true))
    #expect(grant.member?.text == "anna")
    let leeway = rules.leeway.milliseconds
    #expect(grant.expires == Date(milliseconds: clock.now / 1000 * 1000 + 600_000 + leeway))
    for role in ["read", nil] {
      let reader = try issuer.token(claims(["role": role]))
      #expect(try await !authorizer.authorize(reader, for: .home).mayWrite)
    }
    // One audience needs no array, and no issue date a date.
    let plain = try issuer.token(claims(["aud": "tern", "iat": nil, "nbf": nil, "jti": nil]))
    #expect(try await authorizer.authorize(plain, for: .home).credential == nil)
    let refused = await refusal(of: try issuer.token(claims()), for: .work, authorizer)
    #expect(refused?.code == .forbidden)
  }

  @Test("an event stream has all spaces that a token names, one made later too, until it expires")
  func stream() async throws {
    let times = PeriodicCheck.Times(interval: .milliseconds(20))
    try await LiveServer.run(streams: times, clock: clock) {
      try await authorizer($0)
    } _: { server async throws in
      var events = EventReader(server.request("/v1/events", token: try issuer.token(claims())))
      #expect(try await events.next()?.contains("\"space\":\"home\"") == true)
      try server.service.createSpace(SpaceName("gone"))
      #expect(try await events.next()?.contains("\"space\":\"gone\"") == true)
      clock.now += 600_000 + rules.leeway.milliseconds
      var last = try await events.next()
      while last == ":" || last?.hasPrefix("event: gone") == true { last = try await events.next() }
      #expect(last == nil)
      let other = try issuer.token(claims(["spaces": []]))
      let refused = try await server.send(server.request("/v1/events", token: other))
      #expect((refused.status, refused.problem) == (403, "forbidden"))
    }
  }

  private func refusal(
    of token: String, for space: SpaceName = .home,
    _ authorizer: JWTAuthorizer
  ) async -> RemoteError? {
    do {
      _ = try await authorizer.authorize(token, for: space)
      return nil
    } catch {
      return error as? RemoteError
    }
  }

  private static let absent = "no claim"

  /// Claims that are wrong, and what their owner is told. Times are seconds from now.
  /// `absent` takes a claim away.
  private static let wrongClaims: [(claims: [String: any Sendable], told: String)] = [
    (["exp": absent], "no exp"), (["exp": -31], "expired at"), (["exp": 86_401], "good for longer"),
    (["exp": 86_431, "iat": absent], "good for longer"), (["exp": "soon"], "can't be read"),
    (["exp": 1e300], "no time"), (["nbf": 31], "begins at"), (["iat": 31], "to come"),
    (["aud": "others"], "audience"), (["aud": absent], "audience"), (["aud": 7], "can't be read"),
    (["iss": "https://evil.example.org"], "issuer"), (["iss": absent], "issuer"),
    (["sub": absent], "no sub"), (["sub": ""], "no sub"), (["sub": 7], "can't be read"),
    (["role": "admin"], "neither read nor write"), (["role": 1], "can't be read"),
    (["jti": 1], "can't be read"), (["spaces": 1], "can't be read"),
  ]

  @Test(arguments: wrongClaims.indices)
  func `a claim that is wrong refuses the token, and says which`(_ index: Int) async throws {
    let (wrong, told) = Self.wrongClaims[index]
    let authorizer = try await authorizer(service())
    var claims = claims()
    for (name, value) in wrong {
      if value as? String == Self.absent {
        claims[name] = nil
      } else if ["exp", "nbf", "iat"].contains(name), let seconds = value as? Int {
        claims[name] = Int(clock.now / 1000) + seconds
      } else {
        claims[name] = value
      }
    }
    let refused = await refusal(of: try issuer.token(claims), authorizer)
    #expect(refused?.code == .unauthorized, "\(wrong)")
    #expect(refused?.message.contains(told) == true, "\(refused?.message ?? "it was taken")")
  }

  @Test("the algorithm is the key's, whatever a token says")
  func forged() async throws {
    let two = try await TestIssuer("two")
    let authorizer = try await authorizer(service(), [two])
    let stranger = try await TestIssuer("one")
    let publicKey = try JSONSerialization.data(
      withJSONObject: issuer.entry, options: .sortedKeys)
    let forged: [(String, String)] = [
      (try stranger.token(claims()), "signature is wrong"),
      (try issuer.token(claims(), header: ["kid": "two"]), "signature is wrong"),
      (try issuer.token(claims(), header: ["alg": "none"]) { _ in "" }, "algorithm"),
      (try issuer.token(claims(), header: ["alg": "RS256"]), "algorithm"),
      (
        try issuer.token(claims(), header: ["alg": "HS256"]) { text in
          let code = HMAC<Crypto.SHA256>.authenticationCode(
            for: Data(text.utf8), using: SymmetricKey(data: publicKey))
          return TestIssuer.urlForm(Data(code).base64EncodedString())
        }, "algorithm"
      ),
      (try issuer.token(claims()) { _ in "" }, "signature is wrong"),
      (try issuer.token(claims(), header: ["kid": "three"]), "key is not one of"),
      (try issuer.token(claims(), header: ["kid": nil]), "key is not one of"),
      (try issuer.token(claims(), header: ["crit": ["b64"]]), "crit"),
      ("a.b", "can't be read"), ("a.b.c.d", "can't be read"), ("....", "can't be read"),
      (try issuer.token(claims()) + "=", "can't be read"),
      (String(repeating: "a", count: 20_000), "can't be read"),
    ]
    for (token, told) in forged {
      let refused = await refusal(of: token, authorizer)
      #expect(refused?.code == .unauthorized, "\(told)")
      #expect(refused?.message.contains(told) == true, "\(refused?.message ?? "it was taken")")
    }
    // The payload of one with the signature of another.
    let (one, other) = (try issuer.token(claims()), try issuer.token(claims(["sub": "bob"])))
    let parts = zip(one.split(separator: "."), other.split(separator: "."))
    let mixed = parts.enumerated().map { $0.offset == 1 ? $0.element.1 : $0.element.0 }
    #expect(await refusal(of: mixed.joined(separator: "."), authorizer)?.code == .unauthorized)
  }

  @Test("a token opens what is there, and makes nothing and brings nothing back")
  func spaces() async throws {
    try await LiveServer.run(clock: clock) {
      try await authorizer($0)
    } _: { server async throws in
      let token = try issuer.token(claims())
      func ask(_ space: String, _ token: String) async throws -> String? {
        try await server.send(server.request("/v1/spaces/\(space)", token: token)).problem
      }
      #expect(try await ask("home", token) == nil)
      // The store's own token goes on to work.
      #expect(try await ask("home", server.token) == nil)
      #expect(try await ask("work", token) == "forbidden")
      #expect(try await ask("gone", token) == "unauthorized")
      #expect(try server.service.removeSpace(.home))
      #expect(try await ask("home", token) == "unauthorized")
      #expect(try server.service.store.spaces().isEmpty)
    }
  }

  @Test("a denied jti or sub is refused, from the next look at the file on")
  func denied() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path("denied")
    func write(_ text: String) throws {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    try write("# nobody\n\n")
    let clock = HandClock()
    let start = ContinuousClock.now
    let denials = JWTDenials(path: path) { start + .milliseconds(clock.now) }
    let service = try service()
    let authorizer = try await JWTAuthorizer(
      JWTKeySet(source(TestIssuer.set([issuer]))), rules, denials, service)
    let (one, two) = (try issuer.token(claims()), try issuer.token(claims(["jti": "2"])))
    var generator = SeededGenerator(state: 2)
    let own = try service.createToken(for: .home, using: &generator)
    var grants: [Grant] = []
    for token in [one, two, own] {
      grants.append(try await authorizer.authorize(token, for: .home))
    }
    #expect(try await authorizer.withdrawn(Set(grants)).isEmpty)
    try write("jti 2\n")
    clock.now += 1000
    #expect(await refusal(of: two, authorizer)?.message.contains("denied") == true)
    #expect(await refusal(of: one, authorizer) == nil)
    #expect(try await authorizer.withdrawn(Set(grants)) == [grants[1]])
    try write("sub anna\n")
    clock.now += 1000
    #expect(await refusal(of: one, authorizer)?.code == .unauthorized)
    try service.revoke(own)
    #expect(try await authorizer.withdrawn(Set(grants)) == Set(grants))
    // Nobody knows then, and nobody is let in.
    for broken in ["subanna\n", "sub\n", nil] {
      if let broken { try write(broken) } else { try FileManager.default.removeItem(atPath: path) }
      clock.now += 1000
      await #expect(throws: JWTDenialError.self) {
        try await authorizer.authorize(one, for: .home)
      }
      await #expect(throws: JWTDenialError.self) { try await authorizer.withdrawn(Set(grants)) }
    }
  }
}
#endif
