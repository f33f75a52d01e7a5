#if Server
import TernCore
import TernServer
import Testing

@Suite("Service: tokens, on every store")
struct TokenTests {
  @Test("a token opens its own space and no other", arguments: StoreKind.allCases)
  func ownSpace(kind: StoreKind) throws {
    let service = try kind.open().service()
    var generator = SeededGenerator(state: 3)
    let token = try service.createToken(for: .home, using: &generator)
    try service.authorize(token, for: .home)
    #expect(refusal { try service.authorize(token, for: .work) }?.code == .forbidden)
    #expect(refusal { try service.authorize(token + "0", for: .home) }?.code == .unauthorized)
    #expect(refusal { try service.authorize(nil, for: .home) }?.code == .unauthorized)
  }

  @Test("a store keeps the digest of a token and not the token", arguments: StoreKind.allCases)
  func digests(kind: StoreKind) throws {
    let test = try kind.open()
    var generator = SeededGenerator(state: 3)
    let token = try test.service().createToken(for: .home, using: &generator)
    let record = TokenRecord(
      digest: TokenDigest(token: token), space: .home, created: test.clock.date)
    #expect(try test.store.tokens() == [record])
  }

  @Test("a revoked token opens nothing", arguments: StoreKind.allCases)
  func revoked(kind: StoreKind) throws {
    let test = try kind.open()
    let service = test.service()
    var generator = SeededGenerator(state: 3)
    let token = try service.createToken(for: .home, using: &generator)
    #expect(try service.revoke(token))
    #expect(try !service.revoke(token))
    #expect(refusal { try service.authorize(token, for: .home) }?.code == .unauthorized)
  }
}
#endif
